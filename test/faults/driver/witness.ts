import { ImageWitness } from './images/witness.ts'
import type { Priced } from './prices.ts'

/** Something that is not as promised. */
export interface Difference {
  readonly code: string
  readonly subject: string
  readonly message: string
}

/** One creation as the caller meant it; retries under its key belong to it. */
export interface Intended {
  /** Names it in the prompt, so that upstream's record can be told from the others. */
  readonly marker: string
  readonly priced: Priced
  readonly safetyIdentifier: string | undefined
  readonly switches: readonly string[]
  /** Ids it was given by answers that said 200. */
  readonly nativeIds: Set<string>
  /** Ids of `x-platform-id`, of any answer. */
  readonly platformIds: Set<string>
  /** The id its caller goes on with, once it was given one. */
  handle?: string
}

/** What callers saw of one task, by the id they asked with. */
export interface Sighting {
  succeededTokens?: number
  deleted?: boolean
  deletionTried?: boolean
}

/** Everything the callers of a run know: what the oracle holds the product to. */
export class Witness {
  readonly intended = new Map<string, Intended>()
  readonly sightings = new Map<string, Sighting>()
  readonly images = new ImageWitness()
  readonly differences: Difference[] = []
  /** Answers by operation and status; `none` where the connection broke. */
  readonly answers = new Map<string, number>()

  intend(creation: Omit<Intended, 'nativeIds' | 'platformIds' | 'handle'>): Intended {
    const whole: Intended = {
      ...creation,
      nativeIds: new Set<string>(),
      platformIds: new Set<string>(),
    }
    this.intended.set(creation.marker, whole)
    return whole
  }

  sighting(id: string): Sighting {
    const known = this.sightings.get(id)
    if (known !== undefined) return known
    const fresh: Sighting = {}
    this.sightings.set(id, fresh)
    return fresh
  }

  count(operation: string, status: number | 'none'): void {
    const key = `${operation} ${status}`
    this.answers.set(key, (this.answers.get(key) ?? 0) + 1)
  }

  differ(code: string, subject: string, message: string): void {
    this.differences.push({ code, subject, message })
  }
}
