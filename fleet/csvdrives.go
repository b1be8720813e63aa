package fleet

import (
	"fmt"
	"strings"
)

const (
	// maxSize is the largest total of one kind of drive in GB, as the database allows it.
	maxSize = 100_000_000
	// maxDrives is the largest number of drives of one kind.
	maxDrives = 200
)

// The kinds of drives.
const (
	DriveNVMe = "nvme"
	DriveSSD  = "ssd"
	DriveHDD  = "hdd"
)

const wantDrives = "allowed: sizes in GB, like 512, 512+512 or 2x512"

// parseDrives reads a sum of sizes and returns the drives, the largest first, and their total.
func parseDrives(kind, text string) (list []Drive, total int, err error) {
	if text == "" {
		return nil, 0, nil
	}
	for term := range strings.SplitSeq(text, "+") {
		term = strings.TrimSpace(term)
		count, size := 1, term
		if c, s, ok := cutTimes(term); ok {
			if count, ok = parseInt(strings.TrimSpace(c)); !ok || count < 1 || count > maxDrives {
				return nil, 0, fmt.Errorf("%s counts no drives from 1 to %d; %s", show(text), maxDrives, wantDrives)
			}
			size = strings.TrimSpace(s)
		}
		gb, ok := parseInt(size)
		if !ok || gb > maxSize {
			return nil, 0, fmt.Errorf("%s is no sum of whole sizes from 0 to %d; %s", show(text), maxSize, wantDrives)
		}
		if gb == 0 {
			continue
		}
		if total += count * gb; total > maxSize || len(list)+count > maxDrives {
			return nil, 0, fmt.Errorf("%s is more than %d GB or %d drives; %s", show(text), maxSize, maxDrives, wantDrives)
		}
		for range count {
			list = append(list, Drive{Kind: kind, GB: gb})
		}
	}
	sortDrives(list)
	return list, total, nil
}

// cutTimes cuts at x, X, * or the multiplication sign.
func cutTimes(s string) (count, size string, ok bool) {
	for _, mark := range []string{"x", "X", "*", "×"} {
		if count, size, ok = strings.Cut(s, mark); ok {
			return count, size, true
		}
	}
	return "", s, false
}

// parseInt reads a whole number of at most nine digits without a sign.
func parseInt(s string) (int, bool) {
	s0 := strings.TrimLeft(s, "0")
	if !digits(s) || len(s0) > 9 {
		return 0, false
	}
	n := 0
	for _, c := range []byte(s0) {
		n = n*10 + int(c-'0')
	}
	return n, true
}
