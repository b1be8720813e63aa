package web

import "ironhold/accounts"

// router makes a route of one method.
type router func(pattern string, f accounts.Function, h handler) route

// accountRoutes are the pages about the person and those of one-use links.
func (s *server) accountRoutes(get, post router) []route {
	public := func(rt route) route { rt.public = true; return rt }
	return []route{
		public(get("/invitation", "", s.joinForm)),
		public(post("/invitation", "", s.join)),
		public(get("/reset", "", s.resetForm)),
		public(post("/reset", "", s.reset)),
		public(get("/email", "", s.emailForm)),
		public(post("/email", "", s.useEmail)),
		public(get("/forgot", "", s.forgotForm)),
		public(post("/forgot", "", s.forgot)),

		get("/account", signedIn, s.account),
		get("/account/preferences", signedIn, s.backToAccount),
		post("/account/preferences", signedIn, s.saveAccount),
		get("/account/details", signedIn, s.detailsForm),
		post("/account/details", signedIn, s.saveDetails),
		get("/account/email/stop", signedIn, s.backToAccount),
		post("/account/email/stop", signedIn, s.dropEmail),
		get("/account/password", signedIn, s.passwordForm),
		post("/account/password", signedIn, s.changePassword),
		post("/account/sessions/end-others", signedIn, s.endOtherSessions),
		post("/account/sessions/end-all", signedIn, s.endAllSessions),
		post("/account/sessions/{id}/end", signedIn, s.endSession),
	}
}

// orgRoutes are the pages about the person's organisation. Where a form leads, its address shows the
// page of the form when it is asked for by GET: after a sign-in, or typed by hand.
func (s *server) orgRoutes(get, post router) []route {
	return []route{
		get("/org", accounts.ManageMembers, s.org),
		get("/org/history", accounts.SeeHistory, s.orgHistory),
		get("/org/members/invite", accounts.ManageMembers, s.inviteForm),
		post("/org/members/invite", accounts.ManageMembers, s.invite),
		post("/org/invitations/{id}/revoke", accounts.ManageMembers, s.revokeInvitation),
		get("/org/members/{id}", accounts.ManageMembers, s.member),
		get("/org/members/{id}/role", accounts.ManageMembers, s.backToMember),
		get("/org/members/{id}/reset", accounts.ManageMembers, s.backToMember),
		get("/org/members/{id}/disable", accounts.ManageMembers, s.backToMember),
		get("/org/members/{id}/enable", accounts.ManageMembers, s.backToMember),
		post("/org/members/{id}/role", accounts.ManageMembers, s.setMemberRole),
		post("/org/members/{id}/reset", accounts.ManageMembers, s.makeReset),
		post("/org/members/{id}/disable", accounts.ManageMembers, s.disableMember),
		post("/org/members/{id}/enable", accounts.ManageMembers, s.enableMember),
		get("/org/tokens", accounts.ManageTokens, s.backToOrg),
		post("/org/tokens", accounts.ManageTokens, s.makeToken),
		get("/org/tokens/new", accounts.ManageTokens, s.tokenForm),
		get("/org/tokens/{id}", accounts.ManageTokens, s.token),
		post("/org/tokens/{id}/revoke", accounts.ManageTokens, s.revokeToken),
	}
}
