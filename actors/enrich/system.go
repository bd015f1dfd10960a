package enrich

import (
	"strings"

	"github.com/mileusna/useragent"
)

// systemIOS is the system of iPhones, iPods and iPads.
const systemIOS = useragent.IOS

// system returns the name and the version of the operating system.
func system(ua string) (name, version string) {
	switch {
	case strings.Contains(ua, "Windows Phone"):
		_, after, _ := strings.Cut(ua, "Windows Phone ")
		return useragent.WindowsPhone, number(strings.TrimPrefix(after, "OS "))
	case strings.Contains(ua, "Windows NT"):
		return useragent.Windows, windowsRelease(numberAfter(ua, "Windows NT "))
	case containsAny(ua, "Windows CE", "Windows Mobile"):
		return "Windows Mobile", numberAfter(ua, "Windows Mobile ")
	case containsAny(ua, "Windows 9", "Win 9", "Win9", "Windows; U; Win"):
		return useragent.Windows, numberAfter(ua, "Windows ")
	case containsAny(ua, "Web0S", "webOS", "hpwOS"):
		return "webOS", ""
	case strings.Contains(ua, "Tizen"):
		return "Tizen", numberAfter(ua, "Tizen ")
	case strings.Contains(ua, "KAIOS/"):
		return "KaiOS", numberAfter(ua, "KAIOS/")
	case containsAny(ua, "SymbianOS", "Symbian/", "Series60", "SymbOS"):
		return "Symbian", ""
	case containsAny(ua, "BlackBerry", "BB10", "PlayBook"):
		return useragent.BlackBerry, ""
	case containsAny(ua, "iPhone", "iPad", "iPod"):
		return systemIOS, numberAfter(ua, " OS ")
	case strings.Contains(ua, "Android"):
		return useragent.Android, numberAfter(ua, "Android ")
	case strings.Contains(ua, "OpenHarmony"):
		return useragent.Harmony, numberAfter(ua, "OpenHarmony ")
	}
	return desktopSystem(ua)
}

// desktopSystem continues the work of system.
func desktopSystem(ua string) (name, version string) {
	switch {
	case strings.Contains(ua, "CrOS"):
		_, after, _ := strings.Cut(ua, "CrOS ")
		_, after, _ = strings.Cut(after, " ") // architecture
		return useragent.ChromeOS, number(after)
	case strings.Contains(ua, "Macintosh"), strings.Contains(ua, "Mac OS X"), strings.Contains(ua, "Mac_PowerPC"):
		return useragent.MacOS, numberAfter(ua, "Mac OS X ")
	case strings.Contains(ua, "Darwin/") && strings.Contains(ua, "x86_64"):
		return useragent.MacOS, ""
	case strings.Contains(ua, "CFNetwork/"):
		return systemIOS, ""
	case strings.Contains(ua, "FreeBSD"):
		return useragent.FreeBSD, ""
	case strings.Contains(ua, "OpenBSD"):
		return "OpenBSD", ""
	case strings.Contains(ua, "NetBSD"):
		return "NetBSD", ""
	case strings.Contains(ua, "SunOS"):
		return "Solaris", ""
	case strings.Contains(ua, "PlayStation"):
		return "PlayStation", ""
	case strings.Contains(ua, "Nintendo"):
		return "Nintendo", ""
	case strings.Contains(ua, " KF") && strings.Contains(ua, "Silk/"):
		return useragent.Android, ""
	case containsAny(ua, "Linux", "linux", "X11;"):
		return useragent.Linux, ""
	case containsAny(ua, "Windows", "WinNT", "MSIE ", "CYGWIN_NT"):
		return useragent.Windows, ""
	}
	return "", ""
}

// windowsRelease returns the product name of a version of Windows NT. Windows 11 also reports 10.0. A version that
// never existed has no name.
func windowsRelease(version string) string {
	switch version {
	case "10.0":
		return "10"
	case "6.3":
		return "8.1"
	case "6.2":
		return "8"
	case "6.1":
		return "7"
	case "6.0":
		return "Vista"
	case "5.1", "5.2":
		return "XP"
	case "5.0", "5.01":
		return "2000"
	}
	return ""
}

// device returns the kind of device, one of the Device words. It returns "" for a string that names neither device nor
// program.
func device(raw useragent.UserAgent, ua string, client Client) string {
	switch {
	case containsAny(ua, "SMART-TV", "SmartTV", "Smart TV", "AppleTV", "Apple TV", "GoogleTV", "Google TV", "Android TV",
		"HbbTV", "CrKey", "Roku/", "NetCast", "NETTV", "BRAVIA", "Viera", "VIDAA", "Web0S", " AFT", "Opera TV"),
		client.OS == "Tizen" && strings.Contains(ua, "TV"):
		return DeviceTV
	case containsAny(ua, "PlayStation", "Xbox", "Nintendo"):
		return DeviceConsole
	case tablet(raw, ua, client):
		return DeviceTablet
	case handheld(ua, client):
		return DeviceMobile
	}
	switch client.OS {
	case useragent.Windows, useragent.MacOS, useragent.Linux, useragent.ChromeOS, useragent.FreeBSD,
		"OpenBSD", "NetBSD", "Solaris":
		return DeviceDesktop
	}
	if client.Bot || client.Browser != "" {
		return DeviceOther
	}
	return ""
}

// tablet reports whether the client is a tablet. An Android browser on a tablet does not send Mobile.
func tablet(raw useragent.UserAgent, ua string, client Client) bool {
	switch {
	case client.OS == useragent.Windows || client.OS == useragent.WindowsPhone:
		return false
	case strings.Contains(ua, "iPad"), strings.Contains(ua, "PlayBook"), strings.Contains(ua, "Kindle"):
		return true
	case strings.Contains(ua, "Silk/") && !strings.Contains(ua, "Mobile Safari"):
		return true
	case raw.Tablet, strings.Contains(ua, "Tablet"):
		return true
	}
	return client.OS == useragent.Android && containsAny(ua, "AppleWebKit", "Gecko/") &&
		!containsAny(ua, "Mobi", "mobile", "Opera Mini")
}

// handheld reports whether the client is a telephone or another device that is held in a hand, including tablets.
func handheld(ua string, client Client) bool {
	switch client.OS {
	case systemIOS, useragent.Android, useragent.Harmony, useragent.WindowsPhone, useragent.BlackBerry,
		"Windows Mobile", "Symbian", "KaiOS":
		return true
	}
	return containsAny(ua, "Mobi", "MIDP", "Opera Mini", "UP.Browser", "WAP", "Maui Browser", "Nokia", "DoCoMo", "NetFront")
}
