import type { ComponentChildren, JSX } from 'preact'
import type { readHistory } from '../../api/query/history.ts'
import { relatedWords } from '../../api/query/lives/ticket.ts'
import type { OwnerNames } from '../../api/query/owner-names.ts'
import { formatDuration } from '../../kernel/duration.ts'
import { apiPath, lifeHref, repeatsHref } from '../kit/href.ts'
import type { PanelFacts } from '../kit/panel.tsx'
import { Facts, grouped, Money } from '../kit/values.tsx'
import type { View } from '../page.tsx'
import type { ShownLife } from './timeline.tsx'

/** The panels of a life: its money, the state as of a step, what is related, a reply, its events. */

type History = Awaited<ReturnType<typeof readHistory>>

export interface LifeFacts {
  readonly life: ShownLife
  readonly names: OwnerNames
  /** The events of the life. */
  readonly history: PanelFacts<History>
  readonly reply: string
  readonly at: number | undefined
  readonly against: number | undefined
  readonly tz: string | undefined
}

/** A life with everything that its panels show. */
export interface LifeView extends View, LifeFacts {
  readonly currency: string
  /** The step that the page is as of. */
  readonly shownStep: number
  readonly hrefAt: (at: number | undefined) => string
}

/** The route of the API that answers a life. */
export const lifePath = ({ id }: ShownLife): string => apiPath(`/lives/${encodeURIComponent(id)}`)

function SumRow({
  name,
  note,
  children,
  isTotal,
}: {
  readonly name: string
  readonly note?: string
  readonly isTotal?: boolean
  readonly children: ComponentChildren
}): JSX.Element {
  return (
    <tr class={isTotal === true ? 'total' : undefined}>
      <th scope="row">
        {name}
        {note === undefined ? null : <span class="formula">{note}</span>}
      </th>
      <td class="right">{children}</td>
    </tr>
  )
}

export function Sum({ life, currency }: LifeView): JSX.Element | null {
  const { receipt } = life
  if (receipt === null || (receipt.lines.length === 0 && receipt.held === '0')) return null
  const { lines, adjusted, net, held } = receipt
  const money = (amount: string) => (
    <Money amount={amount} currency={currency} from={lifePath(life)} />
  )
  return (
    <section class="panel sum" aria-labelledby="sum">
      <h2 id="sum">Cost</h2>
      <table class="plain">
        <tbody>
          {lines.map((line) => (
            <SumRow
              key={line.line_id}
              name={line.sku}
              note={`${line.formula}${line.measurement === 'estimated' ? ', estimated' : ''}`}
            >
              {money(line.amount)}
            </SumRow>
          ))}
          {adjusted === '0' ? null : <SumRow name="refunded">{money(`-${adjusted}`)}</SumRow>}
          {held === '0' ? null : <SumRow name="held until it ends">{money(held)}</SumRow>}
          {lines.length === 0 ? null : (
            <SumRow name="to pay" isTotal={true}>
              {money(net)}
            </SumRow>
          )}
        </tbody>
      </table>
    </section>
  )
}

export function Slider({ life, shownStep, against, hrefAt, tz }: LifeView): JSX.Element | null {
  const { steps, id } = life
  const last = steps.length
  if (last < 2) return null
  const action = lifeHref(id)
  return (
    <form class="slider" method="get" action={action} aria-label="State as of a step">
      {tz === undefined ? null : <input type="hidden" name="tz" value={tz} />}
      <a class="button" href={hrefAt(Math.max(1, shownStep - 1))} aria-label="One step back">
        <span aria-hidden="true">◀</span>
      </a>
      <label>
        <span>
          as of step <output>{shownStep}</output> of {last}
        </span>
        <input
          type="range"
          id="at"
          name="at"
          min="1"
          max={last}
          value={shownStep}
          hx-get={action}
          hx-trigger="change"
          hx-include="closest form"
          hx-target="#picture"
          hx-select="#picture"
          hx-swap="outerHTML"
          hx-push-url="true"
        />
      </label>
      <a class="button" href={hrefAt(Math.min(last, shownStep + 1))} aria-label="One step on">
        <span aria-hidden="true">▶</span>
      </a>
      <label>
        <span>compare with</span>
        <select name="against">
          <option value="">none</option>
          {steps.map(({ n, title }) => (
            <option key={n} value={n} selected={n === against}>
              {n} {title}
            </option>
          ))}
        </select>
      </label>
      <button type="submit">Show</button>
    </form>
  )
}

const changeNames: Readonly<Record<string, string>> = {
  title: 'state',
  held: 'held',
  charged: 'charged',
  given_back: 'refunded',
  net: 'to pay',
}

export function Difference({ life, currency }: LifeView): JSX.Element | null {
  const { difference } = life
  if (difference === undefined || difference.from_step === difference.to_step) return null
  const { from_step: from, to_step: to, took_ms: tookMs, changes } = difference
  const shown = (name: string, value: string): ComponentChildren =>
    name === 'title' ? value : <Money amount={value} currency={currency} />
  return (
    <section class="panel difference" aria-labelledby="difference">
      <h2 id="difference">
        Between step {from} and step {to}
      </h2>
      <p class="note">{formatDuration(Math.max(0, tookMs))} passed</p>
      <Facts
        facts={changes.map(({ name, ...change }) => [
          changeNames[name] ?? name,
          <>
            {shown(name, change.from)} → {shown(name, change.to)}
          </>,
        ])}
      />
    </section>
  )
}

export function Related({ life, tz }: LifeView): JSX.Element | null {
  if (life.related.length === 0) return null
  const isRepeated = life.related.some(
    ({ why, amount }) => (why === 'retry' || why === 'same_body') && amount !== null,
  )
  return (
    <section class="panel notice related" aria-labelledby="related">
      <h2 id="related">Related</h2>
      <ul>
        {life.related.map(({ id, why, after_ms: afterMs, amount, currency }) => (
          <li key={`${id} ${why}`}>
            <a href={lifeHref(id, { tz })}>{id}</a>, {formatDuration(Math.abs(afterMs))}{' '}
            {afterMs < 0 ? 'before' : 'after'} this one: {relatedWords[why]}
            {amount === null ? '' : `, charged ${grouped(amount)} ${currency ?? ''} too`}
          </li>
        ))}
      </ul>
      {isRepeated ? (
        <p class="note">
          <a href={repeatsHref({ tenant_id: life.tenant_id, tz, time_preset: '30d' })}>
            All requests that were charged twice
          </a>{' '}
          in the last 30 days
        </p>
      ) : null}
    </section>
  )
}

export function Reply({ reply }: LifeView): JSX.Element {
  return (
    <details class="panel reply">
      <summary>Reply to the customer</summary>
      <textarea readOnly rows={reply.split('\n').length + 1} aria-label="Reply">
        {reply}
      </textarea>
    </details>
  )
}

export function Events({ history: of }: LifeView): JSX.Element {
  if ('why' in of) return <p class="panel note">Events in the log: {of.why}</p>
  const { facts: history } = of
  return (
    <details class="panel raw">
      <summary>
        {history.length} {history.length === 1 ? 'event' : 'events'} in the log
      </summary>
      {history.map(({ position, type, data, metadata }) => (
        <section key={position + type}>
          <h3>
            <code>{position}</code> {type}
          </h3>
          <pre>{JSON.stringify({ data, metadata }, undefined, 2)}</pre>
        </section>
      ))}
    </details>
  )
}
