import{c as o,i as t}from"./chunk-KCS6WUVX.js";var r=o(null);function a(){let e=t(r);if(!e)throw new Error("no application is shown");return e}export{r as a,a as b};
