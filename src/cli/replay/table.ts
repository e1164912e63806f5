import { moneyEffectsOf, sourceOf, wordsOf } from '../../domain/any-event.ts'
import type { MoneyEffect } from '../../domain/event-facts.ts'
import type { RecordedEvent } from '../../eventlog/log/types.ts'
import { toTimestamp } from '../../kernel/clock.ts'
import { currencies, formatAmount, parseAmount, type Currency } from '../../kernel/money.ts'
import { formatDuration, formatElapsed } from '../../kernel/duration.ts'
import { oneLine } from '../../kernel/plain-text.ts'
import type { TimeZone } from '../../kernel/time-zone.ts'
import { row } from '../output.ts'

/** Fixed widths, so that rows can be printed before the last one is known. */
const TIME = 23
const ELAPSED = 9
const STEP = 23
const MONEY = 20
const OF = 32
/** Longer words, such as those of a provider, are cut: `--json` has all of them. */
const MAX_CHARACTERS = 120

function moneyWordsOf(movement: MoneyEffect): readonly string[] {
  switch (movement.kind) {
    case 'hold_placed':
      return [`hold ${movement.amount} ${movement.currency}`]
    case 'hold_ended':
      // Beside a settlement that goes without saying.
      return movement.state === 'released' ? ['hold released'] : []
    case 'settled': {
      const { amount, currency, lines } = movement.settled.settlement
      const estimated = lines.some(({ measurement }) => measurement === 'estimated')
      return [`pays ${amount} ${currency}${estimated ? ', estimated' : ''}`]
    }
    case 'granted':
    case 'adjusted': {
      const sign = movement.amount.startsWith('-') ? '' : '+'
      return [`${sign}${movement.amount} ${movement.currency}`]
    }
    case 'limit_set':
      return [`limit ${movement.limit} ${movement.currency}`]
  }
}

function moneyOf(event: RecordedEvent): string {
  if (event.type === 'CallFailed' && event.data.absorbed !== undefined) {
    const { amount, currency } = event.data.absorbed.settlement
    return `ours: ${amount} ${currency}`
  }
  return moneyEffectsOf(event).flatMap(moneyWordsOf).join(', ')
}

/** What happened, in a few words that fit a terminal, and who had it done. */
function describe(event: RecordedEvent): string {
  const { actor } = event.metadata
  const words = [wordsOf(event), ...(actor === undefined ? [] : [`by ${actor}`])]
    .filter((word) => word !== '')
    .join(', ')
  // Words of providers may hold control sequences for a terminal.
  const plain = oneLine(words)
  return plain.length > MAX_CHARACTERS ? `${plain.slice(0, MAX_CHARACTERS - 1)}…` : plain
}

/** Events as rows for people, one after another: time, how long after the one before, step, money. */
export class EventTable {
  /** Whether rows name the thing that an event is about. */
  readonly #several: boolean
  readonly #zone: TimeZone | undefined
  readonly #settledPico = new Map<Currency, bigint>()
  #firstMs: number | undefined
  #lastMs = 0
  #count = 0

  /** @param zone whose times are shown; undefined: UTC's */
  constructor(several: boolean, zone?: TimeZone) {
    this.#several = several
    this.#zone = zone
  }

  /** The heading, before the first event. */
  heading(): string {
    const time = this.#zone === undefined ? 'TIME (UTC)' : 'TIME (LOCAL)'
    return this.#row([time, 'AFTER'.padStart(ELAPSED), 'STEP', 'MONEY', 'OF', 'DETAIL'])
  }

  row(event: RecordedEvent): string {
    const atMs = event.recordedAt.getTime()
    const elapsed = this.#firstMs === undefined ? '' : formatElapsed(atMs - this.#lastMs)
    this.#firstMs ??= atMs
    this.#lastMs = atMs
    this.#count += 1
    this.#sum(event)
    return this.#row([
      (this.#zone?.timestampAt(atMs) ?? toTimestamp(atMs)).slice(0, TIME).replace('T', ' '),
      elapsed.padStart(ELAPSED),
      event.type,
      moneyOf(event),
      sourceOf(event) ?? '',
      describe(event),
    ])
  }

  /** What it came to, after the last event. */
  footing(): string {
    const sums = currencies.flatMap((currency) => {
      const pico = this.#settledPico.get(currency)
      return pico === undefined ? [] : [`${formatAmount(pico)} ${currency}`]
    })
    const took = formatDuration(Math.abs(this.#lastMs - (this.#firstMs ?? this.#lastMs)))
    const paid = sums.length === 0 ? 'nothing to pay' : `${sums.join(' and ')} to pay`
    return `${this.#count} ${this.#count === 1 ? 'event' : `events in ${took}`}, ${paid}`
  }

  #sum(event: RecordedEvent): void {
    for (const movement of moneyEffectsOf(event)) {
      if (movement.kind !== 'settled') continue
      const { currency, amount } = movement.settled.settlement
      this.#settledPico.set(currency, (this.#settledPico.get(currency) ?? 0n) + parseAmount(amount))
    }
  }

  #row(cells: readonly [string, string, string, string, string, string]): string {
    const [time, elapsed, step, money, of, detail] = cells
    return this.#several
      ? row([time, elapsed, step, money, of, detail], [TIME, ELAPSED, STEP, MONEY, OF])
      : row([time, elapsed, step, money, detail], [TIME, ELAPSED, STEP, MONEY])
  }
}
