import { noTextUsage, type TextUsage } from '../../domain/call/usage.ts'
import { bytesOf, countOf, type Fields, fieldsOf, isFields, objectsOf } from '../kit/fields.ts'

/** Bytes an inline image of the answer counts as where usage must be estimated. */
const MEDIA_PART_BYTES = 1_032

/** Searches the provider made for an answer; candidates share them. */
export function searchesOf(body: Fields): number {
  let most = 0
  for (const candidate of objectsOf(body['candidates'])) {
    const queries = fieldsOf(candidate['groundingMetadata'])['webSearchQueries']
    if (Array.isArray(queries)) most = Math.max(most, queries.length)
  }
  return most
}

/**
 * `usageMetadata` by billing unit (wire.md §9.2): members that are zero are left out upstream,
 * thoughts are output, the prompt includes cache hits, what tools added to it is input. Undefined
 * when there is none or a figure is none.
 */
export function nativeUsage(usage: unknown, searches: number): TextUsage | undefined {
  if (!isFields(usage)) return undefined
  const figure = (name: string) => countOf(usage[name])
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
    cachedInput: cached,
    output: candidates + thoughts,
    webSearchCalls: searches,
  }
}

/** UTF-8 bytes of what the candidates say. */
export function nativeOutputBytes(body: Fields): number {
  let bytes = 0
  for (const candidate of objectsOf(body['candidates']))
    for (const part of objectsOf(fieldsOf(candidate['content'])['parts'])) bytes += partBytes(part)
  return bytes
}

function partBytes(part: Fields): number {
  if (typeof part['text'] === 'string') return bytesOf(part['text'])
  if (part['inlineData'] !== undefined) return MEDIA_PART_BYTES
  const { thoughtSignature: _signature, ...said } = part
  return Buffer.byteLength(JSON.stringify(said))
}
