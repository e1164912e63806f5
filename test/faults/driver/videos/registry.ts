import type { FamilyName, VideoFamily } from './family.ts'
import { videoA } from './video-a.ts'
import { videoB, videoBPrices } from './video-b.ts'
import { videoC, videoCPrices } from './video-c.ts'

const families: Readonly<Record<FamilyName, VideoFamily>> = {
  'video-a': videoA,
  'video-b': videoB,
  'video-c': videoC,
}

export const familyNames: readonly FamilyName[] = ['video-a', 'video-b', 'video-c']

/** A family of videos by its name in upstream's record and in the log. @throws RangeError for another */
export function videoFamily(name: string): VideoFamily {
  const found = familyNames.find((known) => known === name)
  if (found === undefined) throw new RangeError(`no family of videos is called ${name}`)
  return families[found]
}

/** Prices of a run's own; those of the others are shipped. */
export const videoPrices = [...videoBPrices, ...videoCPrices]
