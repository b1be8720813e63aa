package notify

// Mailer makes mails of what triggers wrote and sends them.
type Mailer struct{}
