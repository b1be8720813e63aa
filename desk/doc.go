// Package desk keeps what staff write down about orders: purchase requests for what could not be
// given, and notes that customers never see. It owns the tables purchase_requests and notes, and
// finds anything by what people quote.
//
//	refused orders --> purchase request: open --> ordered
//	                                          '-> declined
package desk
