import type { Owed } from '../bill.ts'
import type { Dice } from '../random.ts'

/** What of a family of tasks differs from the others: its wire, its prices, how it can go wrong. */

export type FamilyName = 'video-a' | 'video-b' | 'video-c' | 'speech'

/** What the request said that decides its price. */
export interface Priced {
  /** External name, without a version. */
  readonly model: string
  /** Absent: upstream has one it takes then. */
  readonly resolution?: string | undefined
  readonly hasVideo: boolean
}

/** Counts by their names on the wire. */
export type Usage = Readonly<Record<string, number>>

/** A creation but for what is the same in every family. */
export interface Draft {
  readonly priced: Priced
  readonly path: string
  /** With the text in it that the sandbox and this driver know it by. */
  readonly body: Readonly<Record<string, unknown>>
  /** What upstream's lists show of it, as far as it was asked for. */
  readonly listed: Readonly<Record<string, unknown>>
  /** What its caller wants it to be known by upstream. */
  readonly callerMarker: string | undefined
}

/** What a caller is shown of a task, in one language for all families. */
export interface Sight {
  readonly status: string
  /** Of a success. */
  readonly usage: Usage | undefined
}

/** A request that wants a task gone. */
export interface Removal {
  readonly method: string
  readonly path: string
  readonly body?: Readonly<Record<string, unknown>>
  /** Whether what has ended is hidden by it; else only what waits is cancelled. */
  readonly hides: boolean
}

export interface TaskFamily {
  readonly name: FamilyName
  readonly taskPath: (id: string) => string
  /** How a caller wants one gone; undefined where the surface has no such thing. */
  readonly removal: ((id: string) => Removal) | undefined
  /** Whether its tasks are shown among all videos, too. */
  readonly isVideo: boolean
  /** Where pages of tasks are listed. */
  readonly listPath: string | undefined
  readonly sightOf: (answer: Readonly<Record<string, unknown>>) => Sight
  /** Whether upstream's lists show what each task was marked with, or only what it is like, or are none. */
  readonly lists: 'marked' | 'unmarked' | 'none'
  /** Words of upstream's for: refused input, a refused account, a failed result. */
  readonly refusals: readonly [input: string, account: string]
  readonly failure: string
  /** What else its upstream may do. */
  readonly further: readonly (readonly [weight: number, switches: readonly string[]])[]
  /** The one count a success is known by. */
  readonly measured: (usage: Usage) => number | undefined
  readonly owed: (priced: Priced, usage: Usage) => readonly Owed[]
  /** `text` is the prompt. */
  readonly draft: (dice: Dice, text: string) => Draft
}

/** Those who name their end users, or themselves: few, so that requests of one meet. */
export const endUsers = ['u-1f0c', 'u-2b9d', 'u-77aa']
