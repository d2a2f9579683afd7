// The page's own script on a stub of a document: node page_in_node.js PAGE.html FOLDER_OF_SCRIPTS WHAT_IS_SEARCHED
const fs=require("fs"); const P=process.argv[3]+"/";
const cytoscape=require(P+"cytoscape.min.js"); try{cytoscape.use(require(P+"cytoscape-dagre.min.js"))}catch(e){}
const t=fs.readFileSync(process.argv[2],"utf8"); const data=t.match(/<script type="application\/json" id="data">([\s\S]*?)<\/script>/)[1];
const mk=()=>({hidden:true,textContent:"",addEventListener(k,f){this["on"+k]=f},classList:{add(){},remove(){}},open:false,querySelectorAll:()=>[],focus(){}});
const els={data:{textContent:data}}; const get=id=>id.startsWith("difference-")?null:(els[id]??=mk());
const entries=[{open:false},{open:false}]; const w={handlers:{},addEventListener(k,f){this.handlers[k]=f}};
const ctx={window:w,document:{documentElement:{},getElementById:get,querySelectorAll:q=>q.includes(":not([open])")?entries.filter(e=>!e.open):[],addEventListener(){}},
 getComputedStyle:()=>({getPropertyValue:()=>"#000"}),matchMedia:()=>({addEventListener(){}}),
 cytoscape:o=>cytoscape({...o,container:undefined,headless:true,styleEnabled:true})};
new Function(...Object.keys(ctx), fs.readFileSync(P+"page.js","utf8"))(...Object.values(ctx));
const g=w.egraphOpt.graph; const out={drawn:g.nodes().length,failed:els.failed.hidden?"":els.failed.textContent};
w.handlers.beforeprint(); out.printed=entries.every(e=>e.open); w.handlers.afterprint(); out.closed=entries.every(e=>!e.open);
const grp=g.nodes(".group"); out.groups=grp.length; if(grp.length){grp.first().emit("tap"); out.afterOpen=g.nodes().length;}
els.search.value=process.argv[4]; if(els.search.value){els.search.oninput(); w.egraphOpt.next(); out.status=els.found.textContent; out.chosen=g.nodes(".chosen").length}
{els.open.onclick(); out.allFailed=els.failed.hidden?"":els.failed.textContent; els.close.onclick(); out.again=g.nodes().length;}
console.log(JSON.stringify(out));
process.exit(0);
