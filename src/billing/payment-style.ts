export const PAYMENT_STYLE = `
.banner { margin: 0; padding: .6rem 1rem; text-align: center; background: var(--wait); color: var(--wait-ink);
  font-size: .9rem; }
main { width: min(26rem, calc(100% - 2rem)); margin: clamp(1.5rem, 8vh, 5rem) auto; padding: 2rem; background: var(--card);
  border: 1px solid var(--line); border-radius: 16px; box-shadow: 0 12px 40px rgb(0 0 0 / .06); }
h1 { margin: 0; font-size: 1.1rem; font-weight: 600; color: var(--soft); }
.amount { margin: .25rem 0 1.25rem; font-size: 2.4rem; font-weight: 700; letter-spacing: -.02em;
  font-variant-numeric: tabular-nums; }
.amount span { font-size: 1rem; font-weight: 500; color: var(--soft); letter-spacing: 0; }
dl { margin: 0 0 1.25rem; }
dl div { display: flex; justify-content: space-between; padding: .55rem 0; border-top: 1px solid var(--line); }
dl .total { font-weight: 600; border-bottom: 1px solid var(--line); }
dd { margin: 0; font-variant-numeric: tabular-nums; }
fieldset { margin: 0 0 1.25rem; padding: 0; border: 0; }
legend { padding: 0; margin-bottom: .4rem; font-size: .9rem; color: var(--soft); }
label { display: flex; gap: .65rem; align-items: center; padding: .75rem .9rem; border: 1px solid var(--line); border-radius: 10px; margin-bottom: .5rem;
  cursor: pointer; }
label:has(input:checked) { border-color: var(--accent); box-shadow: inset 0 0 0 1px var(--accent); }
label small { display: block; color: var(--soft); }
input { accent-color: var(--accent); flex: none; width: 1.1rem; height: 1.1rem; margin: 0; }
button, .button { display: block; width: 100%; padding: .85rem 1rem; border: 0; border-radius: 10px; text-align: center;
  background: var(--accent); color: var(--on-accent); font: inherit; font-weight: 600; text-decoration: none;
  cursor: pointer; }
button:focus-visible, a:focus-visible, input:focus-visible { outline: 3px solid var(--accent); outline-offset: 3px; }
main > p:last-child { margin-bottom: 0; }
.quiet { display: block; margin: -.25rem 0 -.75rem; padding: .7rem; border-radius: 10px; text-align: center;
  color: var(--soft); }
.alert { padding: .75rem .9rem; border-radius: 10px; background: var(--bad); color: var(--bad-ink); }
`;
