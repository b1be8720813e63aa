package fleet

import (
	"cmp"
	"slices"
)

// merge returns the machine as it is after the row: facts that the file has no column for stay as
// they are, and so do status and history. A fault says why the row cannot be taken.
func (h header) merge(old, said Machine) (m Machine, fault string) {
	m = old
	take := func(column string, f func()) {
		if h.has(column) {
			f()
		}
	}
	take(colSite, func() { m.SiteCode = said.SiteCode })
	take(colRoom, func() { m.Room = said.Room })
	take(colRack, func() { m.Rack = said.Rack })
	take(colVendor, func() { m.Vendor = said.Vendor })
	take(colModel, func() { m.Model = said.Model })
	take(colSerial, func() { m.Serial = said.Serial })
	take(colCPU, func() { m.CPU = said.CPU })
	take(colCPUCount, func() { m.CPUCount = said.CPUCount })
	take(colCores, func() { m.Cores = said.Cores })
	take(colThreads, func() { m.Threads = said.Threads })
	take(colRAM, func() { m.RAM = said.RAM })
	take(colRAMGB, func() { m.RAMGB = said.RAMGB })
	take(colECC, func() { m.ECC = said.ECC })
	take(colNVMe, func() { m.NVMeGB = said.NVMeGB; m.Drives = replaceDrives(m.Drives, said.Drives, DriveNVMe) })
	take(colSSD, func() { m.SSDGB = said.SSDGB; m.Drives = replaceDrives(m.Drives, said.Drives, DriveSSD) })
	take(colHDD, func() { m.HDDGB = said.HDDGB; m.Drives = replaceDrives(m.Drives, said.Drives, DriveHDD) })
	take(colNIC, func() { m.NICMbps = said.NICMbps })
	take(colFeatures, func() { m.Features = said.Features })
	switch {
	case h.has(colGPU):
		m.GPU = said.GPU
	case h.has(colFeatures) && m.GPU == someGPU:
		m.GPU = "" // it was known from the features alone
	}
	if m.GPU == "" && hasGPU(m.Features) {
		m.GPU = someGPU
	}
	if !h.has(colPrice) && !h.has(colSetup) {
		return m, ""
	}
	if said.Currency != old.Currency && (!h.has(colPrice) && old.PriceMonthMinor != 0 || !h.has(colSetup) && old.SetupMinor != 0) {
		return m, "the currency changes from " + old.Currency + " to " + said.Currency + ": state " + colPrice + " and " + colSetup + " both"
	}
	m.Currency = said.Currency
	take(colPrice, func() { m.PriceMonthMinor = said.PriceMonthMinor })
	take(colSetup, func() { m.SetupMinor = said.SetupMinor })
	return m, ""
}

// replaceDrives puts the drives of one kind in the place of those in the list.
func replaceDrives(list, said []Drive, kind string) []Drive {
	out := slices.DeleteFunc(slices.Clone(list), func(d Drive) bool { return d.Kind == kind })
	for _, d := range said {
		if d.Kind == kind {
			out = append(out, d)
		}
	}
	sortDrives(out)
	return out
}

// sortDrives orders drives by kind, as in the file, then the largest first, so that equal machines
// have equal lists.
func sortDrives(list []Drive) {
	rank := func(d Drive) int { return slices.Index([]string{DriveNVMe, DriveSSD, DriveHDD}, d.Kind) }
	slices.SortStableFunc(list, func(a, b Drive) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(b.GB, a.GB))
	})
}

// sameFacts reports whether two versions of a machine state the same facts.
func sameFacts(a, b Machine) bool {
	return a.Room == b.Room && a.Rack == b.Rack && a.Serial == b.Serial && a.RAM == b.RAM && sameSpec(a.Spec, b.Spec)
}

func sameSpec(a, b Spec) bool {
	return a.SiteCode == b.SiteCode && a.Vendor == b.Vendor && a.Model == b.Model && a.CPU == b.CPU &&
		a.CPUCount == b.CPUCount && a.Cores == b.Cores && a.Threads == b.Threads && a.RAMGB == b.RAMGB && a.ECC == b.ECC &&
		a.NVMeGB == b.NVMeGB && a.SSDGB == b.SSDGB && a.HDDGB == b.HDDGB && a.GPU == b.GPU && a.NICMbps == b.NICMbps &&
		a.PriceMonthMinor == b.PriceMonthMinor && a.SetupMinor == b.SetupMinor && a.Currency == b.Currency &&
		slices.Equal(a.Drives, b.Drives) && slices.Equal(a.Features, b.Features)
}
