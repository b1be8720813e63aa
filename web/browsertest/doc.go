// Package browsertest drives the whole server through a headless Chromium.
//
//	one Chromium per test binary -> one Tab per test: a browser context of its own, so cookies
//	    |                           and storage of its own
//	    v
//	Site: the real handler, engine and accounts on a database of its own, on a loopback port
//
// A Tab records what a person would not see: errors in the console, violations of the content
// policy, requests to elsewhere. Each fails the test at its end. A Site records the size of every
// page that it sent.
//
// Tests wait for conditions, never for a time. They fail, and say what to install, when there is no
// Chromium; they never skip. The package is for tests alone: nothing of it may be linked into the
// program.
package browsertest
