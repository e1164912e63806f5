import type { FamilyName, TaskFamily } from './family.ts'
import { speech } from './speech.ts'
import { videoA } from './video-a.ts'
import { videoB, videoBPrices } from './video-b.ts'
import { videoC, videoCPrices } from './video-c.ts'

const families: Readonly<Record<FamilyName, TaskFamily>> = {
  'video-a': videoA,
  'video-b': videoB,
  'video-c': videoC,
  speech,
}

export const familyNames: readonly FamilyName[] = ['video-a', 'video-b', 'video-c', 'speech']

/** A family of tasks by its name in upstream's record and in the log. @throws RangeError for another */
export function taskFamily(name: string): TaskFamily {
  const found = familyNames.find((known) => known === name)
  if (found === undefined) throw new RangeError(`no family of tasks is called ${name}`)
  return families[found]
}

/** Prices of a run's own; those of the others are shipped. */
export const videoPrices = [...videoBPrices, ...videoCPrices]
