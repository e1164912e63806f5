import { type Markup, markup } from './markup.ts'

/** The style of a statement on a screen and on paper. */
export const statementStyle: Markup = markup`
:root { --ink: #1d2420; --quiet: #5b645f; --line: #d9d7cf; --accent: #1f5c4d; --bad: #a4312a; --warn: #8a5a00 }
* { box-sizing: border-box }
body { margin: 0; background: #f1f0eb; color: var(--ink); font: 14px/1.45 system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans SC', 'PingFang SC', 'Microsoft YaHei', sans-serif }
main { max-width: 210mm; margin: 24px auto; padding: 18mm 18mm 12mm; background: #fff; border: 1px solid var(--line) }
header { display: flex; justify-content: space-between; align-items: flex-start; gap: 24px; border-bottom: 3px solid var(--accent); padding-bottom: 14px }
h1 { margin: 0; font-size: 27px; line-height: 1.15; letter-spacing: -.01em }
h2 { margin: 0 0 6px; font-size: 11px; letter-spacing: .07em; text-transform: uppercase; color: var(--quiet) }
p { margin: 0 0 8px }
.month { margin: 0 0 2px; color: var(--accent); font-weight: 600; font-size: 15px; font-variant-numeric: tabular-nums }
.notice { margin: 6px 0 0; color: var(--quiet) }
.stamp { margin: 4px 0 0; padding: 4px 16px; border: 3px solid; border-radius: 6px; font-size: 25px; font-weight: 800; letter-spacing: .08em; text-transform: uppercase }
.stamp.voided { color: var(--bad) } .stamp.preview { color: var(--warn) }
.demonstration { margin: 14px 0 0; padding: 8px 12px; border-left: 4px solid var(--warn); background: #fdf0d2 }
.parties { display: grid; grid-template-columns: 1fr 1.1fr auto; gap: 24px; margin: 22px 0 26px }
address { font-style: normal; overflow-wrap: anywhere }
.account { margin: 6px 0 0; color: var(--quiet); overflow-wrap: anywhere }
.parties dl { max-width: 330px; font-size: 13px }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 3px 16px; margin: 0; align-content: start }
dt { color: var(--quiet) } dd { margin: 0; overflow-wrap: anywhere; font-variant-numeric: tabular-nums }
table { width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums }
th, td { padding: 5px 0 5px 14px; text-align: left; vertical-align: baseline; font-weight: 400; overflow-wrap: anywhere }
th:first-child, td:first-child { padding-left: 0 }
thead th { border-bottom: 1px solid var(--ink); color: var(--quiet); font-size: 11.5px }
tbody td { border-bottom: 1px solid #eceae3 }
.number { text-align: right; white-space: nowrap }
.exact { color: var(--quiet); font-size: 12px }
.group th { padding-top: 13px; font-weight: 600; border-bottom: 1px solid var(--line) }
.balance th, .balance td { padding-top: 9px; padding-bottom: 9px; font-weight: 700; border-bottom: 1px solid var(--ink) }
.balance .exact { font-weight: 400 }
.balance td:last-child { font-size: 16px }
table > tbody:last-child > .balance > * { border-bottom: 3px double var(--ink) }
.nothing { padding: 16px 0; color: var(--quiet) }
main > section { margin-top: 28px; break-inside: avoid }
pre { margin: 0; padding: 10px 12px; background: #f6f5f1; font: 11px/1.5 ui-monospace, 'Cascadia Mono', 'DejaVu Sans Mono', Menlo, monospace; white-space: pre-wrap; overflow-wrap: anywhere }
section dl + p { margin-top: 10px }
footer { margin-top: 28px; padding-top: 10px; border-top: 1px solid var(--line); color: var(--quiet); font-size: 12px }
.voided main { position: relative; overflow: hidden }
.watermark { position: absolute; inset: 32% 0 auto; margin: 0; color: var(--bad); opacity: .1; font-size: 170px; font-weight: 800; line-height: 1; text-align: center; text-transform: uppercase; transform: rotate(-28deg); pointer-events: none }
@media (max-width: 720px) { main { margin: 0; padding: 20px; border: 0 } .parties { grid-template-columns: 1fr } header { flex-wrap: wrap } }
.users { break-inside: auto }
@page { size: A4; margin: 15mm }
@media print { body { background: none; font-size: 11.5px } main { max-width: none; margin: 0; padding: 0; border: 0 } .users { break-before: page } thead { display: table-header-group } tr { break-inside: avoid } .demonstration, pre { print-color-adjust: exact } }
`
