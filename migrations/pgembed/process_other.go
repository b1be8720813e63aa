//go:build unix && !linux

package pgembed

import "syscall"

// Without the signal the next start stops the orphan.
func setDeathSignal(*syscall.SysProcAttr, syscall.Signal) {}
