package occurrence

import "testing"

// TestValuesInNames compares pairs of frames. Two frames of the same code in two builds, deployments, processes or
// calls are one issue. Two frames of different code stay two issues.
func TestValuesInNames(t *testing.T) {
	const sha1, sha2 = "9f0c2b7a1e4d5f60718293a4b5c6d7e8f9012345", "0a1b2c3d4e5f60718293a4b5c6d7e8f901234567"
	file := func(name string) Frame { return Frame{File: name, Function: "r", InApp: true} }
	function := func(file, name string) Frame { return Frame{File: file, Function: name, InApp: true} }
	module := func(name, function string) Frame { return Frame{Module: name, Function: function, InApp: true} }
	for name, pair := range map[string]struct {
		one, two Frame
		apart    bool
	}{
		"I2 Blade":                   {one: file("/storage/framework/views/" + sha1 + ".php"), two: file("/storage/framework/views/" + sha2 + ".php")},
		"Blade below a release":      {one: file("/var/www/releases/7/storage/framework/views/" + sha1 + ".php"), two: file("/var/www/releases/8/storage/framework/views/" + sha2 + ".php")},
		"Twig":                       {one: file("/var/cache/prod/twig/a7/a7" + sha1 + ".php"), two: file("/var/cache/prod/twig/0b/0b" + sha2 + ".php")},
		"Twig's class":               {one: module("__TwigTemplate_"+sha1, "doDisplay"), two: module("__TwigTemplate_"+sha2, "doDisplay")},
		"Smarty":                     {one: file("/srv/templates_c/" + sha1 + "_0.file.cart.tpl.php"), two: file("/srv/templates_c/" + sha2 + "_2.file.cart.tpl.php")},
		"Smarty's function":          {one: function("/srv/x.php", "content_65f1a2b3c4d5e6_12345678"), two: function("/srv/x.php", "content_75f1a2b3c4d5e6_02345678")},
		"Symfony's container":        {one: file("/srv/var/cache/prod/ContainerAb12Cd3/getCartService.php"), two: file("/srv/var/cache/prod/ContainerZz9Yy8X/getCartService.php")},
		"its class":                  {one: function("x.php", `ContainerAb12Cd3\getCartService::do`), two: function("x.php", `ContainerZz9Yy8X\getCartService::do`)},
		"PHP's anonymous class":      {one: function("/srv/x.php", "class@anonymous\x00/srv/1/x.php:12$0"), two: function("/srv/x.php", "class@anonymous\x00/srv/2/x.php:14$1f")},
		"with a parent":              {one: function("/srv/x.php", "App\\Job@anonymous\x00/srv/1/x.php:12$0::run"), two: function("/srv/x.php", "App\\Job@anonymous\x00/srv/2/x.php:14$a::run")},
		"PHP's eval":                 {one: file("/srv/x.php(12) : eval()'d code"), two: file("/srv/x.php(19) : eval()'d code")},
		"ERB":                        {one: function("app/views/carts/show.html.erb", "_app_views_carts_show_html_erb__1234567890123_70212"), two: function("app/views/carts/show.html.erb", "_app_views_carts_show_html_erb___987654321_123")},
		"ERB, one mark":              {one: function("show.html.erb", "_app_views_carts_show_html_erb_123456"), two: function("show.html.erb", "_app_views_carts_show_html_erb_654321")},
		"Java's lambda, 8":           {one: module("shop.Cart$$Lambda$12/1234567", "apply"), two: module("shop.Cart$$Lambda$345/98765432", "apply")},
		"Java's lambda, 21":          {one: module("shop.Cart$$Lambda/0x00007f1b2c3d4e5f", "apply"), two: module("shop.Cart$$Lambda$14/0x000000080122ab", "apply")},
		"a proxy":                    {one: module("jdk.proxy2.$Proxy12", "pay"), two: module("jdk.proxy3.$Proxy123", "pay")},
		"CGLIB":                      {one: module("shop.Cart$$EnhancerBySpringCGLIB$$1f2e3d", "pay"), two: module("shop.Cart$$EnhancerBySpringCGLIB$$abc", "pay")},
		"Hibernate":                  {one: module("shop.Cart$HibernateProxy$aB3dE5f7", "pay"), two: module("shop.Cart$HibernateProxy$Zz3dE5f7", "pay")},
		"a reflected call":           {one: module("sun.reflect.GeneratedMethodAccessor12", "invoke"), two: module("sun.reflect.GeneratedMethodAccessor345", "invoke")},
		"a form of a lambda":         {one: module("java.lang.invoke.LambdaForm$MH/0x0000012345", "invoke"), two: module("java.lang.invoke.LambdaForm$MH/1234", "invoke")},
		"Clojure":                    {one: module("user$eval12$fn__34", "invoke"), two: module("user$eval777$fn__9", "invoke")},
		"Groovy":                     {one: module("Job$_run_closure1", "doCall"), two: module("Job$_run_closure22", "doCall")},
		"Go":                         {one: module("shop/cart", "main.func1.2"), two: module("shop/cart", "main.func3.1")},
		"Go's range":                 {one: module("shop/cart", "Total-range1"), two: module("shop/cart", "Total-range2")},
		".NET's display class":       {one: module("Shop.Cart+<>c__DisplayClass1_0", "<Total>b__0"), two: module("Shop.Cart+<>c__DisplayClass12_3", "<Total>b__1")},
		".NET's local function":      {one: module("Shop.Cart", "<Total>g__Inner|12_0"), two: module("Shop.Cart", "<Total>g__Inner|3_1")},
		".NET's compiled lambda":     {one: module("Closure", "lambda_method12"), two: module("Closure", "lambda_method7")},
		"F#":                         {one: module("Shop.Cart.total@42-1", "Invoke"), two: module("Shop.Cart.total@57", "Invoke")},
		"Swift":                      {one: function("Cart.swift", "closure #1 in Cart.total()"), two: function("Cart.swift", "closure #2 in Cart.total()")},
		"Rust's closure":             {one: function("cart.rs", "shop::cart::total::{closure#0}"), two: function("cart.rs", "shop::cart::total::{closure#3}")},
		"Rust's crate":               {one: function("cart.rs", "shop[5f3a2b1c4d6e7f80]::cart::total"), two: function("cart.rs", "shop[1f3a2b1c4d6e7f81]::cart::total")},
		"C's clones":                 {one: function("cart.c", "total.isra.0"), two: function("cart.c", "total.constprop.1")},
		"Objective-C's block":        {one: function("Cart.m", "__13-[Cart total]_block_invoke"), two: function("Cart.m", "__21-[Cart total]_block_invoke_2")},
		"I4 Elixir":                  {one: function("lib/cache.ex", "Shop.Cache.remove(1)"), two: function("lib/cache.ex", `Shop.Cache.remove(%{id: 2, by: "a"})`)},
		"Elixir, with a module":      {one: Frame{File: "lib/cache.ex", Module: "Shop.Cache", Function: "Shop.Cache.remove(:a)", InApp: true}, two: Frame{File: "lib/cache.ex", Module: "Shop.Cache", Function: "Shop.Cache.remove(:b)", InApp: true}},
		"Erlang":                     {one: function("src/cache.erl", "cache:remove(1)"), two: function("src/cache.erl", "cache:remove(<<1,2>>)")},
		"I6 Turbopack":               {one: file("https://shop.example/_next/static/chunks/0qZ3k~x9_ab1..js"), two: file("https://shop.example/_next/static/chunks/1bK7w.p0-zz3_.js")},
		"Turbopack, letters":         {one: file("/_next/static/chunks/0a2_x9kqz1b3w.js"), two: file("/_next/static/chunks/8f3b2c1a9d0e4.js")},
		"Next.js":                    {one: file("/_next/static/chunks/app/shop/page-182b6b13bdad92e3.js"), two: file("/_next/static/chunks/app/shop/page-0a2b6b13bdad92ff.js")},
		"Next.js, the build's id":    {one: file("/_next/static/dZ9-xK2_a8Qm1LpRt3vWy/pages/cart.js"), two: file("/_next/static/bZ9-yK2_a8Qm1LpRt3vWz/pages/cart.js")},
		"Rollup, a hyphen":           {one: file("/assets/index-2-98CiAx.js"), two: file("/assets/index-BxT3k9aZ.js")},
		"Rollup, letters":            {one: file("/assets/index-DiwrgTda.js"), two: file("/assets/index-D2kQ9x_1.js")},
		"Rollup, a mark first":       {one: file("/assets/index--Xa3_k9B.js"), two: file("/assets/index-_a9-Qz0b.js")},
		"webpack":                    {one: file("/static/main.8f3b2c1a.js"), two: file("/static/main.0f3b2c1b.js")},
		"webpack, short":             {one: file("/static/main.8f3b2c.js"), two: file("/static/main.1a2b3d.js")},
		"webpack, the hash alone":    {one: file("/static/8f3b2c1a9d.js"), two: file("/static/1a2b3d4e5f.js")},
		"esbuild":                    {one: file("/chunk-ABC123.mjs"), two: file("/chunk-QX7KLM2P.mjs")},
		"a release's number":         {one: file("/srv/releases/41/cart.py"), two: file("/srv/releases/42/cart.py")},
		"a release's time":           {one: file("/srv/releases/20261127103000/cart.py"), two: file("/srv/releases/20261128103000/cart.py")},
		"a release's date":           {one: file("/srv/app/2026-11-27_10-30/cart.py"), two: file("/srv/app/2026-11-28_09-00/cart.py")},
		"a folder with a time":       {one: file("/srv/shop-20261127103000/cart.py"), two: file("/srv/shop-20261128103000/cart.py")},
		"a commit":                   {one: file("/srv/shop-a1b2c3d/cart.py"), two: file("/srv/shop-0f1e2d3/cart.py")},
		"a version":                  {one: file("/opt/shop-1.2.3/cart.py"), two: file("/opt/shop-1.10.0-rc.1/cart.py")},
		"a build in tmp":             {one: file("/tmp/build_a1b2/cart.py"), two: file("/tmp/build_c3d4/cart.py")},
		"a layer of Docker":          {one: file("/var/lib/docker/overlay2/" + sha1 + "/merged/cart.py"), two: file("/var/lib/docker/overlay2/" + sha2 + "/merged/cart.py")},
		"an iPhone":                  {one: file("/var/containers/Bundle/Application/7F3D2A19-0B5C-4E7A-8F1D-9B1E64C0AA11/Shop.app/main.jsbundle"), two: file("/var/containers/Bundle/Application/0F3D2A19-0B5C-4E7A-8F1D-9B1E64C0AA12/Shop.app/main.jsbundle")},
		"an Android phone":           {one: file("/data/app/~~Zx9aQ1==/com.acme-AbC12==/base.apk"), two: file("/data/app/~~Qy0bW2==/com.acme-XyZ34==/base.apk")},
		"a user's folder":            {one: file("/Users/ada/shop/app.js"), two: file("/Users/bob/shop/app.js")},
		"a user's folder, Windows":   {one: file(`C:\Users\ada\AppData\Local\shop\app.js`), two: file(`C:\Users\bob\AppData\Local\shop\app.js`)},
		"two files":                  {one: file("/srv/app/UserController.php"), two: file("/srv/app/CartController.php"), apart: true},
		"two words":                  {one: file("/assets/shopping-cart-overview.js"), two: file("/assets/shopping-cart-settings.js"), apart: true},
		"two capitalised words":      {one: file("/assets/page-Overview.js"), two: file("/assets/page-Settings.js"), apart: true},
		"two chunks with names":      {one: file("/_next/static/chunks/main-app-182b6b13bdad92e3.js"), two: file("/_next/static/chunks/framework-182b6b13bdad92e3.js"), apart: true},
		"two versions of an API":     {one: file("/srv/app/v1/cart.py"), two: file("/srv/app/v2/cart.py"), apart: true},
		"two parts of a build":       {one: file("/builds/web/cart.py"), two: file("/builds/admin/cart.py"), apart: true},
		"two templates of Smarty":    {one: file("/srv/templates_c/" + sha1 + "_0.file.cart.tpl.php"), two: file("/srv/templates_c/" + sha1 + "_0.file.user.tpl.php"), apart: true},
		"two functions of Elixir":    {one: function("lib/cache.ex", "Shop.Cache.remove(1)"), two: function("lib/cache.ex", "Shop.Cache.fetch(1)"), apart: true},
		"two overloads of C++":       {one: function("cart.cpp", "Cart::total(int)"), two: function("cart.cpp", "Cart::total(double)"), apart: true},
		"two classes of OAuth":       {one: file("/srv/OAuth1Client.php"), two: file("/srv/OAuth2Client.php"), apart: true},
		"two methods of one class":   {one: module("App\\Job@anonymous", "run"), two: module("App\\Job@anonymous", "stop"), apart: true},
		"two of a class's functions": {one: function("/srv/x.php", "App\\Job@anonymous\x00/srv/1/x.php:12$0::run"), two: function("/srv/x.php", "App\\Job@anonymous\x00/srv/1/x.php:12$0::stop"), apart: true},
	} {
		one, two := &Occurrence{Name: "E", Frames: []Frame{pair.one}}, &Occurrence{Name: "E", Frames: []Frame{pair.two}}
		if (Fingerprint(one, nil) != Fingerprint(two, nil)) != pair.apart {
			t.Errorf("%s: apart is not %v: %q and %q", name, pair.apart, framePart(&pair.one, FingerprintVersion), framePart(&pair.two, FingerprintVersion))
		}
	}
}
