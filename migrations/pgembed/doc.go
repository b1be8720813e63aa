// Package pgembed runs a private PostgreSQL server for one data folder.
//
// It is a real server from installed binaries, reachable through a unix socket
// only, with its own superuser and a random password kept beside the data.
//
//	data folder (Options.Dir, else /var/lib/ironhold/<name> when root cannot share it)
//	├── lock          flock of the process that started the server
//	├── password      0600, the superuser's; those of other logins derive from it
//	├── pgdata/       0700, owned by the account that runs PostgreSQL
//	├── run/          0700, the socket (in the temporary folder when the path is too long)
//	└── postgres.log  what the server reports, lock waits and deadlocks included
//
// The life of a server:
//
//	           Start                    ready
//	(nothing) ------> lock ----------> running ------ Stop -----> stopped
//	                   |  |              |  ^
//	   another process |  | orphan of    |  | restarted with growing
//	   holds the lock  |  | a killed     v  | pauses until Stop
//	                   v  | starter    crashed
//	       RunningError   | is stopped
//	                      | first
//	                      v
//	        no data yet: initdb into a new folder, then renamed
//
// The starter stops the server. A second process attaches and leaves it alone;
// when the starter ends first, the attached process gets connection errors. When the
// starter is killed, Linux stops the server with it; elsewhere the next Start
// finds the orphan on the folder and stops it before it starts its own.
//
// As root, PostgreSQL runs under another account, since it refuses to run as
// root: the owner of existing data, else postgres, else nobody.
package pgembed
