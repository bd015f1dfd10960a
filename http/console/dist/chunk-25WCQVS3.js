import{u as l}from"./chunk-KCS6WUVX.js";function a({label:e,hint:n,children:r}){return l("label",{class:"field",children:[l("span",{children:e}),r,n&&l("small",{children:n})]})}export{a};
