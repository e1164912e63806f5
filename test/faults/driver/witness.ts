import { AssetWitness, type SeenAsset } from './assets/witness.ts'
import { CallWitness } from './calls/witness.ts'
import type { Creation } from './tasks/creations.ts'

/** Something that is not as promised. */
export interface Difference {
  readonly code: string
  readonly subject: string
  readonly message: string
}

/** One creation as the caller meant it; retries under its key belong to it. */
export interface Intended extends Pick<Creation, 'marker' | 'family' | 'priced' | 'listed'> {
  /** Ids it was given by answers that said 200. */
  readonly nativeIds: Set<string>
  /** Ids of `x-platform-id`, of any answer. */
  readonly platformIds: Set<string>
  /** The id its caller goes on with, once it was given one. */
  handle?: string
  /** What it is made with. */
  readonly asset?: SeenAsset | undefined
}

/** What callers saw of one task, by the id they asked with. */
interface Sighting {
  /** The count its success was shown with. */
  measured?: number | undefined
  /** A deletion or cancellation was answered as done. */
  deleted?: boolean
  /** A deletion was tried that hides what has ended. */
  hidingTried?: boolean
}

/** Everything the callers of a run know: what the oracle holds the product to. */
export class Witness {
  readonly intended = new Map<string, Intended>()
  readonly sightings = new Map<string, Sighting>()
  readonly calls = new CallWitness()
  readonly assets = new AssetWitness()
  readonly differences: Difference[] = []
  /** Answers by operation and status; `none` where the connection broke. */
  readonly answers = new Map<string, number>()

  intend(creation: Omit<Intended, 'nativeIds' | 'platformIds' | 'handle'>): Intended {
    const { marker, family, priced, listed, asset } = creation
    const ids = { nativeIds: new Set<string>(), platformIds: new Set<string>() }
    const whole: Intended = { marker, family, priced, listed, asset, ...ids }
    this.intended.set(marker, whole)
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
