import type { TextRequest } from '../../text/ports.ts'
import { noTextUsage } from '../../text/rules/tokens.ts'
import { withExactIntegers } from '../../../kernel/exact-integers.ts'
import { countOf, isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import { keyHeaders } from '../../kit/http/connections.ts'
import { type Scrubber } from '../../kit/http/scrubber.ts'
import { fromStreamError, malformed } from '../../kit/http/refusals.ts'
import {
  countOrZero,
  objectOf,
  objectsOf,
  parseObject,
  textOf,
  upstreamIdOf,
} from '../../kit/http/fields.ts'
import { readNativeError } from '../../kit/http/error-bodies.ts'
import {
  answeredWith,
  createIdRewriter,
  createMemberRewriter,
  expectedChoices,
  OutputCount,
} from '../../text/upstream/answer-differences.ts'
import type { CountingWire, TextReader } from '../../text/upstream/client.ts'
import {
  NOTHING_READ,
  readFigures,
  type TextReading,
  trackReports,
  wholeTally,
} from '../../text/upstream/report.ts'

/** An inline image of the answer counts as a text of this length. */
const MEDIA_PART = ' '.repeat(1_032)

/** The lists of a candidate's searches. */
const QUERY_LISTS = ['webSearchQueries', 'imageSearchQueries'] as const

/**
 * Adds the searches that a body lists to those known. Upstream charges the models of this wire for
 * each query that differs and is not empty; a query that another candidate or frame repeats was
 * made once. (Earlier models are charged by request: if one of them is sold, its price of a search
 * must allow for that.)
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
 * Converts `usageMetadata` to billing units: upstream omits zero members, thoughts count as output,
 * the prompt includes cache hits, and text that tools added counts as input.
 */
export function nativeUsage(usage: unknown, searches: number): TextReading {
  if (!isJsonObject(usage)) return NOTHING_READ
  const figure = (name: string) => countOrZero(usage[name])
  const read = figure('cachedContentTokenCount')
  return readFigures({
    input: sumOf(figure('promptTokenCount'), figure('toolUsePromptTokenCount')),
    output: sumOf(figure('candidatesTokenCount'), figure('thoughtsTokenCount')),
    cache: read === undefined ? undefined : { read, written5m: 0, written1h: 0 },
    // Part of the output above, whatever the total says.
    reasoning: undefined,
    total: countOf(usage['totalTokenCount']),
    tools: searches === 0 ? noTextUsage : { ...noTextUsage, 'web-search-call': searches },
  })
}

function sumOf(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? undefined : one + other
}

/** The model and the service tier that an answer names. */
function nativeAnsweredWith(body: JsonObject) {
  const { modelVersion: model, usageMetadata } = body
  return { model, serviceTier: objectOf(usageMetadata)['serviceTier'] }
}

/** Counts the candidates' content. */
export function countCandidates(count: OutputCount, body: JsonObject): void {
  for (const candidate of objectsOf(body['candidates']))
    for (const part of objectsOf(objectOf(candidate['content'])['parts'])) countPart(count, part)
}

function countPart(count: OutputCount, part: JsonObject): void {
  const { thoughtSignature: _signature, text, thought, ...said } = part
  if (typeof text === 'string') {
    if (thought === true) count.addReasoning(text)
    else count.add(text)
  } else count.add('inlineData' in said ? MEDIA_PART : JSON.stringify(said))
}

/** Follows a native stream: usage is cumulative. */
function nativeFrameReader(request: TextRequest, scrub: Scrubber): TextReader {
  const rewriteModel = createMemberRewriter('modelVersion', request.model)
  const ids = createIdRewriter('responseId', request.callId)
  const said = answeredWith(request)
  const searches = new Set<string>()
  const reports = trackReports((report) => nativeUsage(report, searches.size))
  const count = new OutputCount()
  const begun = new Set<unknown>()
  const expected = expectedChoices(objectOf(request.body['generationConfig'])['candidateCount'])
  const ended = new Set<unknown>()
  let blocked = false
  let bodyEnded = false
  let failure: { readonly code: string; readonly message: string } | undefined
  return {
    read: ({ data }) => {
      const body = parseObject(data)
      if (body === undefined) throw malformed()
      const error = readNativeError(body)
      if (error !== undefined) {
        const thrown = fromStreamError(error, scrub)
        failure = { code: thrown.code ?? 'UNKNOWN', message: thrown.message }
        throw thrown
      }
      countCandidates(count, body)
      addSearches(body, searches)
      reports.note(body['usageMetadata'])
      said.note(nativeAnsweredWith(body))
      blocked ||= isBlocked(body)
      let ends = blocked
      for (const candidate of objectsOf(body['candidates'])) {
        begun.add(candidate['index'] ?? 0)
        if (textOf(candidate['finishReason']) === undefined) continue
        ended.add(candidate['index'] ?? 0)
        ends = true
      }
      return {
        event: undefined,
        data: rewriteModel(ids.rewrite(data, body), body),
        usageOnly: false,
        terminal: ends,
      }
    },
    tally: () => {
      const reading = reports.reading()
      // Some servers answer with fewer candidates.
      const isOver = bodyEnded && reading.usage !== undefined && begun.size > 0
      const finished = blocked || ended.size >= (isOver ? Math.min(begun.size, expected) : expected)
      const heard = { output: () => count.size(begun.size), finished, failure }
      return { ...reading, ...heard, ...said.otherwise() }
    },
    upstreamId: ids.upstreamId,
    bodyEnded: () => {
      bodyEnded = true
    },
    // There is no end mark; figures may follow the reason until the connection ends.
    over: () => false,
  }
}

/** Whether upstream blocked the prompt: then the result is complete. */
function isBlocked(body: JsonObject): boolean {
  return textOf(objectOf(body['promptFeedback'])['blockReason']) !== undefined
}

/** An answer with the name of its model that callers know, and the id of its call. */
function shownAnswer(
  body: JsonObject,
  { model, callId }: Pick<TextRequest, 'model' | 'callId'>,
): JsonObject {
  const named = 'modelVersion' in body ? { modelVersion: model } : {}
  return { ...body, ...named, responseId: callId }
}

/** Native content generation. */
export const nativeWire: CountingWire = {
  credentialHeaders: keyHeaders,
  members: [
    'contents',
    'tools',
    'toolConfig',
    'systemInstruction',
    'generationConfig',
    'safetySettings',
  ],
  path: (request, streamed) => {
    const model = encodeURIComponent(request.upstreamModel)
    return streamed
      ? `/models/${model}:streamGenerateContent?alt=sse`
      : `/models/${model}:generateContent`
  },
  requestBody: (request) => request.body,
  readError: readNativeError,
  readAnswer: (body, request, _scrub, text) => {
    // An answer without candidates and without a reason for that is malformed; it must not be
    // delivered or billed (P5).
    if (objectsOf(body['candidates']).length === 0 && !isBlocked(body)) return undefined
    return {
      body: shownAnswer(withExactIntegers(body, text), request),
      upstreamId: upstreamIdOf(body['responseId']),
      tally: () => {
        const searches = new Set<string>()
        addSearches(body, searches)
        const said = answeredWith(request)
        said.note(nativeAnsweredWith(body))
        return wholeTally(
          body['usageMetadata'],
          nativeUsage(body['usageMetadata'], searches.size),
          {
            output: () => {
              const count = new OutputCount()
              countCandidates(count, body)
              return count.size(objectsOf(body['candidates']).length)
            },
            failure: undefined,
            ...said.otherwise(),
          },
        )
      },
    }
  },
  frameReader: nativeFrameReader,
  count: {
    path: ({ upstreamModel }) => `/models/${encodeURIComponent(upstreamModel)}:countTokens`,
    // The service counts turns alone; with further members it takes a whole request.
    body: ({ body, upstreamModel }) =>
      Object.keys(body).every((name) => name === 'contents')
        ? body
        : { generateContentRequest: { ...body, model: `models/${upstreamModel}` } },
    figure: 'totalTokens',
  },
}
