import{c as r,i as t}from"./chunk-IFVSWCBU.js";var o=r(null);function a(){let e=t(o);if(!e)throw new Error("no application is shown");return e}export{o as a,a as b};
