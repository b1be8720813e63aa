package api

// glossary says what members and parameters mean, by name: one name means one thing wherever it
// stands. Names that explain themselves are missing on purpose.
var glossary = map[string]string{
	// Requests.
	"sites": "Site codes, any of them", "vendors": "Vendors, any of them", "cpu": "Part of the processor's name; case does not matter",
	"min_cores": "Cores, at least", "min_threads": "Threads, at least", "min_ram_gb": "Memory in GB, at least",
	"min_nvme_gb": "NVMe drives in GB, together, at least", "min_ssd_gb": "SSDs in GB, together, at least", "min_hdd_gb": "Hard disks in GB, together, at least",
	"min_nic_mbps": "Network port in Mbit/s, at least", "ecc": "Memory with error correction; in a request false is as if left out",
	"gpu": "A graphics card; in a request false is as if left out, in an answer its name or null", "features": "All of these features",
	"max_price_month_minor": "Monthly price at most, in minor units (cents)", "machine": "In an order an asset tag: exactly this machine",
	"org": "Slug of the organisation; in a request for staff alone", "reason": "Why, in words; kept in the history",
	"site": "Site code", "vendor": "Vendor", "feature": "Feature", "max_price_minor": "Monthly price at most, in minor units (cents)",
	"sort": "By what; a minus turns the order round", "limit": "Items of a page, or how many there may be", "cursor": "next_cursor of the page before",
	"state": "Where it is in its life", "status": "Where the machine is in its life", "q": "Part of tag, serial, vendor, model or processor",
	"outcome": "What became of the order", "from": "Not before this time", "to": "Before this time", "setting": "inherit, on or off",
	"launch": "off, opt-in, on, or a percentage such as 25%",
	"key":    "Made by the caller, one for each order that is meant: the same key never gives a second hold",
	"match":  "ETags that the caller has; 304 when nothing changed", "path.id": "The object's id", "path.tag": "Asset tag", "path.slug": "Slug of the organisation",

	// Answers.
	"items": "This page", "next_cursor": "For the next page; null at the end", "as_of": "When the answer was true, by the server's clock",
	"asset_tag": "The machine's name for life", "price_month": "Per month", "setup": "Once", "amount_minor": "In minor units (cents)", "currency": "ISO 4217",
	"terms": "What was agreed, as it was shown", "expires_at": "The deadline", "extended_at": "When the deadline was put off; null when it never was",
	"seconds_left": "To the deadline, by the server's clock; 0 when it has passed", "closed_at": "When the hold ended; null while it is live",
	"close_reason": "Why it ended, in words", "decision": "How the machine was chosen; frozen at the order", "service": "Id of the service that the hold became",
	"withdrawn": "The machine left sale during the hold: ask for a substitute", "substitute_of": "The hold that this one took the place of",
	"attempt": "Reference number of the order; staff can look up what it met", "overdue": "Past the deadline and not yet swept: free for others",
	"request": "What was asked for", "free": "Machines that can be held now", "availability": "available, limited or none_left",
	"delivery_hours": "Within how many hours of the confirmation the machine is ready; null: on request",
	"you_hold":       "Of your organisation's, on hold", "you_rent": "Of your organisation's, in service", "considered": "Machines looked at: eligible and excluded",
	"eligible": "Machines, or whether the machine, would do", "excluded": "Machines that would not do", "reasons": "Why machines were excluded, with how many; one machine can have several",
	"near_misses": "Which one change would make how many machines eligible", "relax": "The member of the request to change", "value": "The value that would do; null: leave it out",
	"gains": "Machines that would become eligible", "hold": "Id of the hold", "ended_at": "null while it runs", "end_reason": "Why it ended, in words",
	"occupant": "Who has the machine; null when nobody has", "history": "Newest first", "walk": "Each candidate that the order tried",
	"skipped": "Locked by another order, and passed over", "lost": "Taken by another order first", "changed": "No candidate any more when its turn came",
	"faster": "Holds that were there before this order could make its own", "took_us": "Microseconds", "by_ms": "Milliseconds by which it was earlier",
	"effective": "Whether ordering is on", "who_can_change": "Whose decision it is", "violations": "Rows that break the rule", "examples": "Some of them",

	"os": "Code of the operating system; see /operating-systems", "ssh_keys": "Public SSH keys", "at": "When; left out: at once",
	"end_at": "The planned end; null when none is planned", "provisioning": "What is done to the machine: the installation, and after the end the wipe",
	"step": "What is done at the moment, a stable code; empty when nothing is known", "percent": "0 to 100; null when it is not known",
	"attempts": "How often it was begun", "finished_at": "null while it is not over", "code": "A stable name",

	// Problems.
	"problem.type": "Address of the page that explains it", "problem.title": "The type in words", "problem.detail": "This case in words",
	"problem.instance": "The address that was asked", "problem.request_id": "To be given when asking for help", "problem.status": "The HTTP status",
	"retryable": "Whether the same order may succeed at once", "next_free_at": "When the next hold ends; null when it is not known",
	"limit_name": "max_holds or max_machines", "held": "Live holds", "active": "Active services", "until": "When it is possible again",
	"substitute_available": "An equal machine is free", "legal": "The legal next statuses", "errors": "Every fault of the request, by field",
}
