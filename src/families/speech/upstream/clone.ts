import type { CloneAnswer, CloneOrder, CloneProvider } from '../ports.ts'
import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import { ask, type Told } from '../../kit/media/files.ts'
import { bearerHeaders, createLines } from '../../kit/http/lines.ts'
import { losslessCount, objectOf, textOf, upstreamIdOf } from '../../kit/http/fields.ts'
import { headerOf, restOf } from '../../kit/http/refusals.ts'

const CLONE_PATH = '/v1/voice_clone'
const JSON_TYPE = { 'content-type': 'application/json' }

/** The adapter of clones; one connection pool per channel. */
export function createCloneProvider(): CloneProvider & { readonly close: () => Promise<void> } {
  const lines = createLines({
    headers: bearerHeaders,
    connections: ({ maxConcurrent }) => maxConcurrent,
  })
  return {
    clone: async (channel, order, options) => {
      const sent = { headers: JSON_TYPE, body: cloneBody(order) }
      const line = lines.of(channel)
      return cloneOf(await ask(line, { path: CLONE_PATH, ...sent }, channel, options))
    },
    close: () => lines.close(),
  }
}

/** JSON whose ids are integers of 64 bits, which only text can hold. */
function cloneBody(order: CloneOrder): string {
  const { audition, promptUpstreamFileId, promptText } = order
  const hasPrompt = promptUpstreamFileId !== undefined || promptText !== undefined
  const prompt = `{${[
    ...(promptUpstreamFileId === undefined ? [] : [`"prompt_audio":${promptUpstreamFileId}`]),
    ...(promptText === undefined ? [] : [`"prompt_text":${JSON.stringify(promptText)}`]),
  ].join(',')}}`
  const rest = JSON.stringify({
    voice_id: order.upstreamVoiceId,
    ...(audition && { text: audition.text, model: audition.upstreamModel }),
    ...order.settings,
  })
  const ids = `"file_id":${order.upstreamFileId},${hasPrompt ? `"clone_prompt":${prompt},` : ''}`
  return `{${ids}${rest.slice(1)}`
}

function cloneOf({ told, headers }: Told): CloneAnswer {
  return {
    upstreamRequestId: headerOf(headers, 'trace-id') ?? upstreamIdOf(told['trace_id']),
    restMs: restOf(headers),
    characters: losslessCount(objectOf(told['extra_info'])['usage_characters']),
    demoAudio: textOf(told['demo_audio']),
    inputSensitive: sensitivityOf(told),
  }
}

/** The reason is a number in an object, or in the older form in a second member after a boolean. */
function sensitivityOf(told: JsonObject): number | undefined {
  const said = told['input_sensitive']
  const type = isJsonObject(said) ? said['type'] : told['input_sensitive_type']
  const reason = losslessCount(type) ?? 0
  if (reason !== 0) return reason
  return said === true ? OTHER_REASON : undefined
}

const OTHER_REASON = 7
