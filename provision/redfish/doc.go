// Package redfish is the driver that starts machines from the network through their management
// controllers (BMCs), by Redfish.
//
//	address, fingerprint, serial from the inventory; anything missing: refused
//	   |
//	connect: that address alone, TLS with that certificate alone
//	   |
//	log in -> find the system with that serial; none, or two: refused
//	   |
//	tell the provisioner, if there is one, what the machine shall get
//	   |
//	next start from the network, once -> looked at -> switch on or restart -> looked at -> Running, booting
//	   |
//	log out, however it went
//
// Nothing is changed before the serial has been compared: behind a wrong cable is another customer's
// machine. Before each request that changes something the caller is asked whether the attempt still
// counts (driver.Check), as the process may have been stopped for an hour since the last.
//
// A BMC knows whether its machine is on, and not what was installed on it. So this driver never says
// Done by itself: the provisioner does, that the machine also starts from, or a person. A further attempt
// starts the machine from the network again.
package redfish
