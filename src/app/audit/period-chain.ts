import {
  type PeriodClosed,
  type StatementEvent,
  statementStream,
} from '../../domain/statement/events.ts'
import type { RecordedEvent } from '../../eventlog/log/types.ts'

/** The closes of a tenant in their order: what each begins with, and which number it has. */

/** A close that stands; small, as every month of a tenant has one. */
export interface StandingClose {
  readonly n: number
  readonly attempt: number
  readonly month: string
  readonly to: string
  readonly position: bigint
  readonly closing: string
  readonly root: string
  /** Something was found in it: what the next one takes over from it is not judged again. */
  readonly isWrong: boolean
}

interface CurrencyCloses {
  readonly standing: StandingClose[]
  /** How often each month was closed, by its number. */
  readonly attempts: Map<number, number>
}

/** Digits of the count in the number of a statement; it grows longer after 9,999 closes. */
const NUMBER_DIGITS = 4

function monthAfter(month: string): string {
  const [year = 0, number = 0] = month.split('-').map(Number)
  const months = year * 12 + number
  return `${Math.floor(months / 12)}-${String((months % 12) + 1).padStart(2, '0')}`
}

export class PeriodChain {
  readonly #byCurrency = new Map<string, CurrencyCloses>()
  /** Closes in every currency, the voided ones included. */
  #closes = 0
  /** The count in the last number, which differs after a number that was found wrong. */
  #lastNumber = 0

  /** The close that stands before the next one of a currency. */
  lastOf(currency: string): StandingClose | undefined {
    return this.#of(currency).standing.at(-1)
  }

  /** Why a close does not follow from those before it, in words. */
  faultsOf({ stream, data }: RecordedEvent<PeriodClosedEvent>): readonly string[] {
    const { currency, n, attempt, month, from, previous, statement, tenantId } = data
    const last = this.lastOf(currency)
    const faults: string[] = []
    const expect = <T extends string | number>(what: string, is?: T, due?: T): void => {
      if (is !== due) faults.push(`${what} is ${is ?? 'none'}, not ${due ?? 'none'}`)
    }
    expect('the stream', stream, statementStream(tenantId))
    const counts = [this.#closes + 1, this.#lastNumber + 1].map((count) =>
      String(count).padStart(NUMBER_DIGITS, '0'),
    )
    if (!counts.some((count) => statement.endsWith(`-${count}`)))
      faults.push(`the number of the statement is ${statement}, not …-${counts[0]}`)
    if (last?.isWrong) return faults
    expect('n', n, (last?.n ?? 0) + 1)
    expect('the attempt', attempt, (this.#of(currency).attempts.get(n) ?? 0) + 1)
    expect('the number of the period before', previous?.n, last?.n)
    expect('the root of the period before', previous?.root, last?.root)
    if (last === undefined) return faults
    expect('the month', month, monthAfter(last.month))
    expect('the beginning', from, last.to)
    return faults
  }

  /** Takes a close, and whether anything was found in it. */
  close({ currency, n, attempt, month, to, ...data }: PeriodClosed, isWrong: boolean): void {
    const { standing, attempts } = this.#of(currency)
    const { position, closing, root, statement } = data
    standing.push({ n, attempt, month, to, position: BigInt(position), closing, root, isWrong })
    attempts.set(n, attempt)
    this.#closes += 1
    const number = Number(statement.slice(statement.lastIndexOf('-') + 1))
    this.#lastNumber = Number.isSafeInteger(number) ? number : this.#closes
  }

  /** Takes a void: the period stands no more. */
  void({ currency, n, attempt }: Pick<PeriodClosed, 'currency' | 'n' | 'attempt'>): void {
    const { standing } = this.#of(currency)
    const at = standing.findIndex((one) => one.n === n && one.attempt === attempt)
    if (at >= 0) standing.splice(at, 1)
  }

  #of(currency: string): CurrencyCloses {
    const found = this.#byCurrency.get(currency)
    if (found) return found
    const closes = { standing: [], attempts: new Map<number, number>() }
    this.#byCurrency.set(currency, closes)
    return closes
  }
}

export type PeriodClosedEvent = Extract<StatementEvent, { readonly type: 'PeriodClosed' }>
