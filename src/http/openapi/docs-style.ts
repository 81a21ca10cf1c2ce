export const DOCS_STYLE = `
:root { --get: #0b6b53; --post: #8a4b08; --patch: #5b3f9e; --delete: #a3232b; }
@media (prefers-color-scheme: dark) { :root { --get: #5cd3b0; --post: #f0b265; --patch: #b9a4f5; --delete: #f58d92; } }
body { display: grid; grid-template-columns: 20rem minmax(0, 1fr); background: var(--card);
  font: 15px/1.55 system-ui, sans-serif; }
nav { position: sticky; top: 0; height: 100vh; overflow: auto; padding: 1.25rem; border-right: 1px solid var(--line);
  background: var(--page); font-size: 13px; }
nav ul { list-style: none; margin: 0; padding: 0; }
nav li a { display: block; padding: .15rem 0; overflow-wrap: anywhere; text-decoration: none; color: inherit; }
nav h3 { margin: 1.1rem 0 .3rem; font-size: 12px; text-transform: uppercase; letter-spacing: .06em; color: var(--soft); }
.brand { font-weight: 700; font-size: 16px; text-decoration: none; color: inherit; }
main { padding: 2rem clamp(1rem, 4vw, 4rem); max-width: 64rem; }
a { color: var(--accent); }
article { border: 1px solid var(--line); border-radius: 10px; padding: 1rem 1.25rem; margin: 1rem 0; }
article h3 { margin: 0; font-size: 16px; overflow-wrap: anywhere; }
h4 { margin: 1rem 0 .3rem; font-size: 13px; color: var(--soft); }
b.get, b.post, b.patch, b.delete { text-transform: uppercase; font-size: 11px; letter-spacing: .04em; }
b.get { color: var(--get); } b.post { color: var(--post); } b.patch { color: var(--patch); }
b.delete { color: var(--delete); }
code { font: 13px/1.4 ui-monospace, monospace; }
table { width: 100%; border-collapse: collapse; font-size: 13px; }
td { padding: .35rem .5rem .35rem 0; border-top: 1px solid var(--line); vertical-align: top; }
details { border-top: 1px solid var(--line); padding: .35rem 0; }
summary { cursor: pointer; overflow-wrap: anywhere; }
ul.schema { margin: .3rem 0; padding-left: 1.1rem; font-size: 13px; }
ul.schema span, em { color: var(--soft); }
@media (max-width: 50rem) { body { display: block; } nav { position: static; height: auto; border-right: 0; } }
`;
