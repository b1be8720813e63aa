package fleet

import (
	"time"

	"github.com/google/uuid"
)

// Status is where a machine is in its life, not who has it.
type Status string

// The statuses; only Ready is sellable. See doc.go for the moves.
const (
	Intake      Status = "intake"
	Ready       Status = "ready"
	InService   Status = "in_service"
	Cleaning    Status = "cleaning"
	Maintenance Status = "maintenance"
	Retired     Status = "retired"
)

// Drive is one drive of a machine. Kind is "nvme", "ssd" or "hdd"; sizes are in GB.
type Drive struct {
	Kind string `json:"kind"`
	GB   int    `json:"gb"`
}

// Spec is what makes two machines equal for a buyer at a site: a machine class.
// Cores and threads count the whole machine; sizes are totals in GB; prices are integer minor
// units of Currency.
type Spec struct {
	SiteCode        string   `db:"site_code"`
	Vendor          string   `db:"vendor"`
	Model           string   `db:"model"`
	CPU             string   `db:"cpu"`
	CPUCount        int      `db:"cpu_count"`
	Cores           int      `db:"cores"`
	Threads         int      `db:"threads"`
	RAMGB           int      `db:"ram_gb"`
	ECC             bool     `db:"ecc"`
	NVMeGB          int      `db:"nvme_gb"`
	SSDGB           int      `db:"ssd_gb"`
	HDDGB           int      `db:"hdd_gb"`
	Drives          []Drive  `db:"drives"`
	GPU             string   `db:"gpu"` // model, "" for none
	NICMbps         int      `db:"nic_mbps"`
	Features        []string `db:"features"`
	PriceMonthMinor int64    `db:"price_month_minor"`
	SetupMinor      int64    `db:"setup_minor"`
	Currency        string   `db:"currency"`
}

// Class is a row of machine_classes. It never changes.
type Class struct {
	ID int `db:"id"`
	Spec
}

// Machine is one physical server.
type Machine struct {
	ID       uuid.UUID `db:"id"`
	AssetTag string    `db:"asset_tag"`
	Room     string    `db:"room"`
	Rack     string    `db:"rack"`
	Serial   string    `db:"serial"`
	RAM      string    `db:"ram"` // the modules in words
	Spec
	ClassID      int        `db:"class_id"`
	Lot          int        `db:"lot"`
	Status       Status     `db:"status"`
	StatusReason string     `db:"status_reason"`
	StatusBy     string     `db:"status_by"`
	StatusAt     time.Time  `db:"status_at"`
	WipedAt      *time.Time `db:"wiped_at"`
	CreatedAt    time.Time  `db:"created_at"`
	UpdatedAt    time.Time  `db:"updated_at"`
}
