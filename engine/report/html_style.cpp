#include "engine/report/html_style.h"

namespace fairlane::report {

// --h0 to --h5 are the map's steps and --t0 to --t5 the texts on them: one hue that differs in
// lightness alone, so that nobody needs to tell colours apart.
char const* page_style() {
  return R"css(
:root{color-scheme:light dark;--page:#fff;--ink:#1c2127;--soft:#545d68;--rule:#d4d9df;
--panel:#f5f7f9;
--accent:#0a5aa8;--wash:#e4effa;--fill:#5b9bd5;
--h0:#f0f3f6;--h1:#d8e7f6;--h2:#aecff0;--h3:#78aee2;--h4:#2b6cb0;--h5:#12406f;
--t0:#1c2127;--t1:#1c2127;--t2:#1c2127;--t3:#101418;--t4:#fff;--t5:#fff}
@media (prefers-color-scheme:dark){:root{--page:#14181d;--ink:#e6eaee;--soft:#a4aeb9;--rule:#363e47;
--panel:#1c2229;--accent:#8cc0f4;--wash:#1b3048;--fill:#3f7fc0;
--h0:#232a32;--h1:#1c3a59;--h2:#1f5080;--h3:#2b6cb0;--h4:#78b2ec;--h5:#c3def8;
--t0:#e6eaee;--t1:#e6eaee;--t2:#fff;--t3:#fff;--t4:#101418;--t5:#101418}}
*{box-sizing:border-box}
html{font:100%/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;
-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0;background:var(--page);color:var(--ink);overflow-wrap:anywhere}
header,nav,main,footer{max-width:66rem;margin:0 auto;padding:0 1.25rem}
header{padding-top:2rem}
p,ul,ol,dl{margin:.5rem 0;max-width:44rem}
h1,h2,h3,h4{line-height:1.25;font-weight:600}
h1{font-size:2rem;margin:.25rem 0 .5rem}
h2{font-size:1.375rem;margin:3rem 0 .75rem;padding-top:.75rem;border-top:1px solid var(--rule)}
h3{font-size:1.0625rem;margin:1.75rem 0 .5rem}
h4{font-size:1rem;margin:0}
a{color:var(--accent)}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
.skip{position:absolute;left:-99rem}
.skip:focus{left:1rem;top:1rem;background:var(--page);padding:.5rem}
.soft,.over{color:var(--soft)}
.over{margin:0;font-size:.9375rem}
.verdict{border-left:.375rem solid var(--accent);padding:.125rem 0 .125rem 1.25rem}
.verdict p{font-size:1.125rem}
.verdict .limit{font-weight:600}
nav ul{list-style:none;display:flex;flex-wrap:wrap;gap:.25rem 1.25rem;padding:0;margin:1.25rem 0 0;
max-width:none}
nav a{display:inline-block;padding:.125rem 0}
table{border-collapse:collapse;width:100%;margin:.75rem 0 1.25rem;font-variant-numeric:tabular-nums}
caption{text-align:left;color:var(--soft);padding-bottom:.5rem;font-size:.9375rem}
th,td{text-align:left;vertical-align:top;padding:.375rem .75rem .375rem 0;
border-bottom:1px solid var(--rule);font-weight:400}
thead th{color:var(--soft);font-size:.875rem}
th[scope=rowgroup]{font-weight:600}
.set th,.set td{padding-top:1rem}
.set td{color:var(--soft)}
thead th{overflow-wrap:break-word}
.n{white-space:nowrap;overflow-wrap:normal;text-align:right}
th.n{white-space:normal}
td b{font-weight:600}
.shares table,.map table{table-layout:fixed}
.pairs{max-width:44rem}
.shares th:first-child{width:24%}
.shares td{padding-right:0}
.said{display:flex;flex-wrap:wrap;gap:0 .75rem;align-items:baseline}
.said .soft{font-size:.9375rem}
svg.bar{display:block;width:100%;height:1rem;margin:.125rem 0}
.bar .grid{stroke:var(--rule);vector-effect:non-scaling-stroke}
.bar .fill{fill:var(--fill)}
.bar .whisker{stroke:var(--ink);stroke-width:2;vector-effect:non-scaling-stroke}
svg.chart{display:block;width:100%;height:7.5rem}
svg.curve{display:block;width:100%;height:auto}
.chart .grid,.curve .grid{stroke:var(--rule);vector-effect:non-scaling-stroke}
.chart .fill{fill:var(--fill)}
.curve .line{fill:none;stroke:var(--accent);stroke-width:2;vector-effect:non-scaling-stroke}
figure{margin:.75rem 0;max-width:44rem}
figcaption{color:var(--soft);font-size:.9375rem;padding-bottom:.375rem}
.curves{display:grid;gap:1.25rem;
grid-template-columns:repeat(auto-fill,minmax(min(100%,15rem),1fr))}
.curves figure{margin:0}
.wide{overflow-x:auto;overflow-wrap:normal}
.wide td,.wide th{min-width:4rem}
.scale{display:flex;justify-content:space-between;color:var(--soft);font-size:.8125rem}
.map th:first-child{width:20%}
.map ul{list-style:none;display:flex;flex-wrap:wrap;gap:.25rem;margin:0;padding:0;max-width:none}
.map li,.key span{border-radius:.25rem;padding:.25rem .5rem;min-width:7.5rem;line-height:1.3;
font-size:.875rem}
.map li b{display:block;font-size:1.0625rem;font-weight:600}
.map li i{display:block;font-style:normal}
.key{display:flex;flex-wrap:wrap;gap:.25rem;align-items:center;font-size:.875rem;margin:.5rem 0}
.key span{min-width:0;width:2rem;height:1.25rem}
.h0{background:var(--h0);color:var(--t0)}.h1{background:var(--h1);color:var(--t1)}
.h2{background:var(--h2);color:var(--t2)}.h3{background:var(--h3);color:var(--t3)}
.h4{background:var(--h4);color:var(--t4)}.h5{background:var(--h5);color:var(--t5)}
.rules li{margin:.5rem 0}
.rules b{font-weight:600}
.people{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,24rem),1fr));gap:1rem;
margin:.75rem 0}
.person{background:var(--panel);border:1px solid var(--rule);border-radius:.5rem;padding:1rem;
font-size:.9375rem;min-width:0}
.person p{margin:.125rem 0}
.person h3,.person h4{margin:0}
.person caption{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);
white-space:nowrap}
.person table{position:relative;margin:.5rem 0;table-layout:fixed}
.person th,.person td{padding:.25rem .5rem;border-color:var(--rule)}
.person .same{color:var(--soft)}
.person .changed th,.person .changed td{background:var(--wash);font-weight:600;
border-bottom:1px solid var(--accent);
border-top:1px solid var(--accent)}
.person .changed th{border-left:.25rem solid var(--accent)}
.person .changed small{display:block;font-weight:400}
.person .outcome th,.person .outcome td{border-top:2px solid var(--ink);border-bottom:0;
font-weight:600}
dl{display:grid;grid-template-columns:minmax(6rem,12rem) 1fr;gap:.375rem 1rem}
dt{font-weight:600}
dd{margin:0}
details{margin:.75rem 0}
summary{cursor:pointer;color:var(--accent);padding:.25rem 0}
pre{background:var(--panel);border:1px solid var(--rule);border-radius:.375rem;padding:.75rem 1rem;
white-space:pre-wrap;
font:.875rem/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
footer{padding-top:2rem;padding-bottom:3rem;color:var(--soft);font-size:.875rem}
@media (max-width:34rem){
header,nav,main,footer{padding-left:.875rem;padding-right:.875rem}
h1{font-size:1.625rem}
.map li{min-width:5.625rem;padding:.25rem .375rem}
.pairs table{table-layout:fixed;hyphens:auto}
.pairs th,.pairs td{width:29%;font-size:.875rem}
.pairs .n{width:21%;white-space:normal;overflow-wrap:anywhere}
dl{display:block}
dd{margin:0 0 .625rem}
.person{padding:.75rem .375rem;hyphens:auto}
.person th,.person td{padding:.25rem .125rem .25rem .25rem;font-size:.875rem}
th,td{padding-right:.5rem}
.shares th:first-child,.map th:first-child{width:5.75rem}
.shares th[scope=row],.shares th[scope=rowgroup],.map th[scope=row]{font-size:.875rem}
}
@page{margin:1.5cm}
@media print{
:root{color-scheme:light;--page:#fff;--ink:#000;--soft:#444;--rule:#bbb;--panel:#fff;
--accent:#0a4a8a;--wash:#e4effa;--fill:#5b9bd5;
--h0:#f0f3f6;--h1:#d8e7f6;--h2:#aecff0;--h3:#78aee2;--h4:#2b6cb0;--h5:#12406f;
--t0:#000;--t1:#000;--t2:#000;--t3:#000;--t4:#fff;--t5:#fff}
html{font-size:10pt}
nav,.skip{display:none}
header,main,footer{max-width:none;padding-left:0;padding-right:0}
.map li,.key span,svg.bar,svg.chart,.changed th,.changed td{print-color-adjust:exact;
-webkit-print-color-adjust:exact}
h2,h3,h4,caption,thead,summary{break-after:avoid}
.person,tr,.map li,.rules li{break-inside:avoid}
.people{display:block;columns:2;column-gap:1rem}
.person{margin-bottom:.75rem;padding:.5rem .75rem;font-size:.8rem;line-height:1.35}
.person th,.person td{padding:.0625rem .375rem}
.person thead th{font-size:.8rem}
tr:last-child{break-before:avoid}
details::details-content{content-visibility:visible;display:block;height:auto;opacity:1}
summary{color:var(--ink);list-style:none}
details.screen{display:none}
.wide{overflow:visible;overflow-wrap:anywhere;font-size:8.5pt}
.wide td,.wide th{min-width:0}
}
)css";
}

}  // namespace fairlane::report
