import { noTextUsage, type TextUsage } from '../../../domain/families/text/usage.ts'
import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import { countOrZero, objectOf, objectsOf } from '../../kit/http/fields.ts'
import { bytesOf } from '../../kit/text/output.ts'

/** Bytes an inline image of the answer counts as where usage must be estimated. */
const MEDIA_PART_BYTES = 1_032

/** Where a candidate lists what was searched for. */
const QUERY_LISTS = ['webSearchQueries', 'imageSearchQueries'] as const

/**
 * Adds the searches a body tells of to those known. Upstream charges the models of this wire for
 * each query that differs and is not empty; one that is told again, by another candidate or frame,
 * was made once. (Models of the generation before are charged by request: where such a one is sold,
 * its price of a search has to allow for it.)
 */
export function addSearches(body: JsonObject, known: Set<string>): void {
  for (const candidate of objectsOf(body['candidates'])) {
    const grounding = candidate['groundingMetadata']
    if (!isJsonObject(grounding)) continue
    for (const list of QUERY_LISTS) {
      const queries = grounding[list]
      if (!Array.isArray(queries)) continue
      for (const query of queries as readonly unknown[])
        if (typeof query === 'string' && query.trim() !== '') known.add(`${list} ${query}`)
    }
  }
}

/**
 * `usageMetadata` by billing unit: members that are zero are left out upstream,
 * thoughts are output, the prompt includes cache hits, what tools added to it is input. Undefined
 * when there is none or a figure is none.
 */
export function nativeUsage(usage: unknown, searches: number): TextUsage | undefined {
  if (!isJsonObject(usage)) return undefined
  const figure = (name: string) => countOrZero(usage[name])
  const prompt = figure('promptTokenCount')
  const cached = figure('cachedContentTokenCount')
  const toolPrompt = figure('toolUsePromptTokenCount')
  const candidates = figure('candidatesTokenCount')
  const thoughts = figure('thoughtsTokenCount')
  if (
    prompt === undefined ||
    cached === undefined ||
    toolPrompt === undefined ||
    candidates === undefined ||
    thoughts === undefined
  )
    return undefined
  return {
    ...noTextUsage,
    input: Math.max(0, prompt - cached) + toolPrompt,
    'cached-input': cached,
    output: candidates + thoughts,
    'web-search-call': searches,
  }
}

/** The model and the tier of service an answer says it was made with. */
export function nativeAnsweredWith(body: JsonObject) {
  const { modelVersion: model, usageMetadata } = body
  return { model, serviceTier: objectOf(usageMetadata)['serviceTier'] }
}

/** UTF-8 bytes of what the candidates say. */
export function nativeOutputBytes(body: JsonObject): number {
  let bytes = 0
  for (const candidate of objectsOf(body['candidates']))
    for (const part of objectsOf(objectOf(candidate['content'])['parts'])) bytes += partBytes(part)
  return bytes
}

function partBytes(part: JsonObject): number {
  if (typeof part['text'] === 'string') return bytesOf(part['text'])
  if (part['inlineData'] !== undefined) return MEDIA_PART_BYTES
  const { thoughtSignature: _signature, ...said } = part
  return Buffer.byteLength(JSON.stringify(said))
}
