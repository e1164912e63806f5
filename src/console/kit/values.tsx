import type { ComponentChildren, JSX } from 'preact'
import { fromTimestamp, toTimestamp } from '../../kernel/clock.ts'
import { formatAmount, parseAmount } from '../../kernel/money.ts'
import type { TimeZone } from '../../kernel/time-zone.ts'

/** Values as every page writes them: money, times, ids. */

/** An exact decimal with its thousands apart; digits are never rounded away. */
export function grouped(amount: string): string {
  const [whole = '0', fraction] = amount.split('.')
  const sign = whole.startsWith('-') ? '-' : ''
  const digits = whole.slice(sign.length)
  const first = digits.length % 3
  const threes = digits.slice(first).match(/\d{3}/g) ?? []
  const spaced = sign + [...(first === 0 ? [] : [digits.slice(0, first)]), ...threes].join(' ')
  return fraction === undefined ? spaced : `${spaced}.${fraction}`
}

/** Names the route and query of the API that answers a figure. */
export interface From {
  readonly from?: string | undefined
}

/** Digits after the point of an amount as it is shown. */
function decimalsOf(shown: string): number {
  return shown.split('.')[1]?.length ?? 0
}

/** Most digits after the point among amounts: with so many each of a column has its point below the others. */
export function mostDecimals(amounts: readonly string[]): number {
  return Math.max(0, ...amounts.map((amount) => decimalsOf(formatAmount(parseAmount(amount)))))
}

/** Room for the digits that an amount lacks; the style fills it, so that copied text has the digits alone. */
function Room({ shown, decimals }: { readonly shown: string; readonly decimals: number }) {
  const own = decimalsOf(shown)
  if (own >= decimals) return null
  const room = (own === 0 ? '.' : '') + '0'.repeat(decimals - own)
  return <span class="room" data-room={room}></span>
}

/** Digits of an amount that the page itself has summed: no answer has it. */
export function Digits({
  amount,
  decimals,
}: {
  readonly amount: string
  readonly decimals: number
}) {
  const shown = grouped(amount).replace('-', '−')
  return (
    <span class="digits">
      {shown}
      <Room shown={shown} decimals={decimals} />
    </span>
  )
}

/** An amount with its currency; `from` names the API's answer that has it. */
export function Money({
  amount,
  currency,
  from,
  decimals = 0,
  isSigned = false,
}: From & {
  readonly amount: string
  readonly currency?: string | undefined
  /** Digits after the point that the column has room for. */
  readonly decimals?: number
  /** Shows a plus before an amount above nothing: a difference. */
  readonly isSigned?: boolean
}): JSX.Element {
  const plus = isSigned && !amount.startsWith('-') && amount !== '0' ? '+' : ''
  const shown = grouped(formatAmount(parseAmount(amount))).replace('-', '−')
  return (
    <>
      {plus}
      <span class={amount.startsWith('-') ? 'money money-minus' : 'money'} data-from={from}>
        {shown}
        <Room shown={shown} decimals={decimals} />
        {currency === undefined ? null : <span class="currency"> {currency}</span>}
      </span>
    </>
  )
}

/** Writes times of a zone for people. */
export interface ZoneClock {
  readonly zone: string
  /** `28 Nov 2026` */
  readonly day: (atMs: number) => string
  /** `00:03:22.117` */
  readonly time: (atMs: number) => string
}

const months = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ')

export function zoneClock(name: string, zone: Pick<TimeZone, 'timestampAt'>): ZoneClock {
  return {
    zone: name,
    day: (atMs) => {
      const [year = '', month = '', day = ''] = zone.timestampAt(atMs).slice(0, 10).split('-')
      return `${day} ${months[Number(month) - 1]} ${year}`
    },
    time: (atMs) => zone.timestampAt(atMs).slice(11, 23),
  }
}

/** A sentence of the API, whose times are written in the zone of the page. */
export function sentenceInZone(sentence: string, clock: ZoneClock): string {
  return sentence.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)/g, (timestamp) => {
    const atMs = fromTimestamp(timestamp)
    return `${clock.day(atMs)} ${clock.time(atMs).slice(0, 8)}`
  })
}

/** A moment in the reader's zone, in one line; the exact UTC time is its `datetime`. */
export function Moment({
  atMs,
  clock,
  short,
  precision = 'ms',
}: {
  readonly atMs: number
  readonly clock: ZoneClock
  readonly short?: boolean
  /** Lists show seconds. */
  readonly precision?: 's' | 'ms'
}): JSX.Element {
  const time = clock.time(atMs)
  return (
    <time datetime={toTimestamp(atMs)}>
      {short === true ? null : <span class="day">{clock.day(atMs)} </span>}
      {time.slice(0, 8)}
      {precision === 's' ? null : <span class="ms">{time.slice(8)}</span>}
    </time>
  )
}

/** An id that leads somewhere, shortened in the middle by the style where there is little room. */
export function Id({
  id,
  href,
}: {
  readonly id: string
  readonly href?: string | undefined
}): JSX.Element {
  const at = id.indexOf('_') === -1 ? id.indexOf('-') : id.indexOf('_')
  const shown = (
    <>
      <span class="id-kind">{id.slice(0, at + 1)}</span>
      {id.slice(at + 1)}
    </>
  )
  return href === undefined ? (
    <code class="id">{shown}</code>
  ) : (
    <a class="id" href={href}>
      {shown}
    </a>
  )
}

/** A command for a shell, which breaks between words only. */
export function Command({ children }: { readonly children: ComponentChildren }): JSX.Element {
  return <code class="command">{children}</code>
}

/** A list of facts, each with its name. */
export function Facts({
  facts,
}: {
  readonly facts: readonly (readonly [name: string, value: ComponentChildren])[]
}): JSX.Element {
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

/** How a state is meant: the colour in addition to its word. */
export type Tone = 'good' | 'bad' | 'warn' | 'work' | 'quiet'

const tones: Readonly<Record<string, Tone>> = {
  settled: 'good',
  done: 'good',
  open: 'good',
  active: 'good',
  'accepts calls': 'good',
  'in effect': 'good',
  closed: 'quiet',
  running: 'work',
  ready: 'work',
  'not billed': 'bad',
  failed: 'bad',
  suspended: 'bad',
  disabled: 'bad',
  expired: 'bad',
  unknown: 'warn',
  uncertain: 'warn',
  'awaiting usage': 'warn',
  blocked: 'warn',
}

/** A state in a word, with a mark in the colour of its tone, by default that of the word. */
export function State({
  word,
  tone,
}: {
  readonly word: string
  readonly tone?: Tone
}): JSX.Element {
  const shown = word.replaceAll('_', ' ')
  return <span class={`state mark-state ${tone ?? tones[shown] ?? 'quiet'}`}>{shown}</span>
}
