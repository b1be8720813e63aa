// Package rollout decides for whom the ordering of machines is switched on. It owns the table
// rollout_launch; the organisation's own setting lives on its lock row and is written by package
// accounts.
//
//	launch (operator)      setting (org admin)        effective
//	off                    any                        off   launch_off
//	opt-in | NN% | on      on                         on    org_on
//	opt-in | NN% | on      off                        off   org_off
//	opt-in                 inherit                    off   not_opted_in
//	NN%                    inherit, share below NN    on    percentage_in
//	NN%                    inherit, share NN or more  off   percentage_out
//	on                     inherit                    on    launch_on
//
// Pages ask Status. A hold asks Precondition, which reads both rows inside the hold's transaction
// while the organisation is locked, so that off binds every order that arrives after its commit.
// Off means no new hold; live holds, services and the sweep are untouched.
package rollout
