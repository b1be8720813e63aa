#!/bin/sh
# Orders a server, and waits until there is one and it is set up: order.sh [constraints of "ironhold hold"]
#
# Environment: IRONHOLD_URL and IRONHOLD_TOKEN; OS, code of the operating system; SSH_KEY, file of a public
# key; WAIT, seconds at most for the order (600); PAUSE between two tries (10); KEY, to go on with an order
# that was begun before; READY=no, not to wait until it is set up. The last line is the id of the service.
set -u
ironhold=${IRONHOLD:-ironhold}
key=${KEY:-$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')}
end=$(($(date +%s) + ${WAIT:-600}))
echo "key $key" >&2

while :; do
	hold=$("$ironhold" hold "$@" --key "$key" --json)
	code=$?
	case $code in
	0) break ;;
	3 | 10 | 12 | 13 | 14 | 15 | 32) # no answer, someone was faster, all on hold, busy, or too many orders: it may change
		if [ "$(date +%s)" -ge "$end" ]; then
			echo "no server within the time" >&2
			exit $code
		fi
		sleep "${PAUSE:-10}" ;;
	*) exit $code ;; # a reason that waiting does not change; the program has said it
	esac
done

id=$(printf '%s' "$hold" | sed 's/^{"id":"\([^"]*\)".*/\1/')
set -- "$id" --json
[ -z "${OS:-}" ] || set -- "$@" --os "$OS"
[ -z "${SSH_KEY:-}" ] || set -- "$@" --ssh-key "$SSH_KEY"
service=$("$ironhold" hold confirm "$@") || exit $?
service=$(printf '%s' "$service" | sed 's/^{"id":"\([^"]*\)".*/\1/')
if [ "${READY:-yes}" = yes ]; then
	"$ironhold" services watch "$service" >&2 || exit $?
fi
echo "$service"
