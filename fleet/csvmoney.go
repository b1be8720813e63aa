package fleet

import (
	"fmt"
	"strings"
)

// maxMinor is the largest price, in minor units, as the database allows it.
const maxMinor = 100_000_000_000

// exponents are the decimal places of the currencies of ISO 4217 that do not have two.
var exponents = map[string]int{
	"BIF": 0, "CLP": 0, "DJF": 0, "GNF": 0, "ISK": 0, "JPY": 0, "KMF": 0, "KRW": 0, "PYG": 0, "RWF": 0, "UGX": 0,
	"UYI": 0, "VND": 0, "VUV": 0, "XAF": 0, "XOF": 0, "XPF": 0,
	"BHD": 3, "IQD": 3, "JOD": 3, "KWD": 3, "LYD": 3, "OMR": 3, "TND": 3,
}

// twoPlaces are the other currencies of ISO 4217.
const twoPlaces = " AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF " +
	"CNY COP CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR " +
	"JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK " +
	"NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT " +
	"TOP TRY TTD TWD TZS UAH USD UYU UZS VED VES WST XCD XCG YER ZAR ZMW ZWG "

// Exponent returns the decimal places of a currency by its ISO 4217 code; false for an unknown one.
func Exponent(currency string) (int, bool) {
	if e, ok := exponents[currency]; ok {
		return e, true
	}
	return 2, len(currency) == 3 && strings.Contains(twoPlaces, " "+currency+" ")
}

// parseAmount reads a decimal amount in major units and returns minor units. comma allows a decimal
// comma beside the point. Only digits and one mark are taken: a mark between thousands could be
// mistaken for a decimal one.
func parseAmount(text string, places int, comma bool) (int64, error) {
	mark := "."
	if comma && !strings.Contains(text, ".") {
		mark = ","
	}
	major, minor, marked := strings.Cut(text, mark)
	allowed := fmt.Sprintf("a decimal amount from 0 to %d with at most %d decimals is allowed, like 33", maxMinor/pow10(places), places)
	if places > 0 {
		allowed += "." + strings.Repeat("5", places)
	}
	if major == "" || !digits(major) || marked && (minor == "" || !digits(minor)) || len(minor) > places {
		return 0, fmt.Errorf("%s is no amount: %s", show(text), allowed)
	}
	value := int64(0)
	for _, d := range major + minor + strings.Repeat("0", places-len(minor)) {
		value = value*10 + int64(d-'0')
		if value > maxMinor {
			return 0, fmt.Errorf("%s is too much: %s", show(text), allowed)
		}
	}
	return value, nil
}

func pow10(n int) int64 {
	p := int64(1)
	for range n {
		p *= 10
	}
	return p
}

func digits(s string) bool {
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return s != ""
}
