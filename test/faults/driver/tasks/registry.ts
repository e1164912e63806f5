import { owedForCharacters } from '../speech/orders.ts'
import type { FamilyName, TaskFamily } from './family.ts'
import { videoA } from './video-a.ts'
import { videoB, videoBPrices } from './video-b.ts'
import { videoC, videoCPrices } from './video-c.ts'

/** `/provB` speech that is asked for later: by the characters upstream counts when it takes it. */

const words: Readonly<Record<string, string>> = {
  Processing: 'running',
  Success: 'succeeded',
  Failed: 'failed',
  Expired: 'expired',
}

const speech: TaskFamily = {
  name: 'speech',
  taskPath: (id) => `/provB/v1/query/t2a_async_query_v2?task_id=${id}`,
  removal: undefined,
  isVideo: false,
  listPath: undefined,
  sightOf: ({ status, usage_characters: characters }) => ({
    status: words[String(status)] ?? String(status),
    usage: status === 'Success' ? { usage_characters: Number(characters) } : undefined,
  }),
  lists: 'none',
  refusals: ['1026', '1008'],
  failure: '1027',
  further: [[2, ['zero-usage']]],
  // The log has a name of its own for them.
  measured: ({ usage_characters: told, character }) => told ?? character,
  owed: ({ model }, { usage_characters: told, character = 0 }) =>
    owedForCharacters(model, told ?? character),
  draft: (dice, text) => {
    const model = dice.pick(['speech-2.8-hd', 'speech-2.8-turbo', 'speech-2.6-hd'])
    return {
      priced: { model, hasVideo: false },
      path: '/provB/v1/t2a_async_v2',
      callerMarker: undefined,
      listed: {},
      body: { model, text, voice_id: dice.pick(['nova', 'male-qn-qingse']) },
    }
  },
}

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
