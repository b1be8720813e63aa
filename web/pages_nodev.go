//go:build !dev

package web

// devRoutes are pages for developers; only a binary built with the tag dev has any.
func (s *server) devRoutes() []route { return nil }
