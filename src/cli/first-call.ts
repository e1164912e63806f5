import { modelEndpoints } from '../api/kit/routes/models.ts'
import type { Channel } from '../app/ports/provider.ts'
import type { Catalog } from '../domain/catalog/catalog.ts'

/** A first call for people to paste, with a model that the gateway serves. */

interface Sample {
  /** Endpoint as `/v1/models` shows it. */
  readonly endpoint: string
  readonly body: (model: string) => object
  /** The file for an answer that a terminal cannot show. */
  readonly file?: string
}

const PROMPT = 'a paper boat'
/** The quickest and cheapest call first. */
const samples: readonly Sample[] = [
  {
    endpoint: '/v1/chat/completions',
    body: (model) => ({ model, messages: [{ role: 'user', content: 'hello' }] }),
  },
  { endpoint: '/v1/responses', body: (model) => ({ model, input: 'hello' }) },
  {
    endpoint: '/v1beta/models/{model}:generateContent',
    body: () => ({ contents: [{ parts: [{ text: 'hello' }] }] }),
  },
  {
    endpoint: '/v1/images/generations',
    body: (model) => ({ model, prompt: PROMPT, response_format: 'url' }),
  },
  {
    endpoint: '/v1/audio/speech',
    body: (model) => ({ model, input: PROMPT, voice: 'alloy' }),
    file: 'speech.mp3',
  },
  { endpoint: '/v1/videos', body: (model) => ({ model, prompt: PROMPT }) },
]

/** The lines of the call; undefined where no channel serves a model that one of these is for. */
export function firstCall(
  catalog: Catalog,
  channels: readonly Pick<Channel, 'family' | 'models'>[],
  address: string,
): readonly string[] | undefined {
  for (const { endpoint, body, file } of samples)
    for (const { family, models } of channels)
      for (const model of Object.keys(models))
        if (modelEndpoints(catalog, family, model).includes(endpoint))
          return [
            `curl ${address}${endpoint.replace('{model}', model)} \\`,
            `  -H "authorization: Bearer $TOKEN" -H 'content-type: application/json' \\`,
            `  -d '${JSON.stringify(body(model))}'${file === undefined ? '' : ` --output ${file}`}`,
          ]
  return undefined
}
