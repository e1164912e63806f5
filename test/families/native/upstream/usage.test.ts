import t from 'tap'
import {
  addSearches,
  countCandidates,
  nativeUsage,
} from '../../../../src/families/native/upstream/wire.ts'
import { OutputCount } from '../../../../src/families/text/upstream/answer-differences.ts'
import { readNativeError } from '../../../../src/families/kit/http/error-bodies.ts'

t.test('thoughts are output, cached tokens are prompt, tool tokens are input', async (t) => {
  t.match(
    nativeUsage(
      {
        promptTokenCount: 100,
        cachedContentTokenCount: 40,
        toolUsePromptTokenCount: 7,
        candidatesTokenCount: 5,
        thoughtsTokenCount: 30,
      },
      2,
    ).usage,
    { input: 67, 'cached-input': 40, output: 35, 'web-search-call': 2 },
  )
})

t.test('absent members count as zero; wrong figures count as missing', async (t) => {
  t.match(nativeUsage({ promptTokenCount: 3 }, 0).usage, { input: 3, output: 0 })
  t.match(nativeUsage({}, 0).usage, { input: 0, output: 0 })
  t.equal(nativeUsage(undefined, 0).usage, undefined)
  t.match(nativeUsage({ promptTokenCount: -1, candidatesTokenCount: 4 }, 0), {
    usage: { input: 0, output: 4 },
    notes: [{ what: 'input', why: 'missing' }],
  })
  t.match(nativeUsage({ promptTokenCount: 3, totalTokenCount: 9 }, 0).usage, { output: 6 })
})

t.test('each distinct non-empty query is one search, however often reported', async (t) => {
  const known = new Set<string>()
  const tell = (...candidates: object[]) => {
    addSearches({ candidates }, known)
    return known.size
  }
  const grounded = (grounding: unknown) => ({ groundingMetadata: grounding })
  t.equal(tell({}, grounded(null), grounded({}), grounded({ webSearchQueries: 'a' })), 0)
  t.equal(tell(grounded({ webSearchQueries: ['', ' ', 7, null] })), 0)
  t.equal(tell(grounded({ webSearchQueries: ['a', 'b', 'a'] })), 2)
  t.equal(tell(grounded({ webSearchQueries: ['b'] }), grounded({ webSearchQueries: ['c'] })), 3)
  t.equal(tell(grounded({ imageSearchQueries: ['a'] })), 4)
  addSearches({}, known)
  t.equal(known.size, 4)
})

t.test('pictures and calls count as output', async (t) => {
  const parts = [{ text: 'é' }, { inlineData: { data: 'AA' } }, { functionCall: { name: 'f' } }]
  const count = new OutputCount()
  countCandidates(count, { candidates: [{ content: { parts } }] })
  const call = JSON.stringify({ functionCall: { name: 'f' } }).length
  t.same(count.size(1), { bytes: 2 + 1_032 + call, characters: 1 + 1_032 + call, answers: 1 })
  countCandidates(count, { candidates: [{ content: { parts: [{ text: 'ab', thought: true }] } }] })
  t.match(count.size(1), { bytes: 4 + 1_032 + call, characters: 1 + 1_032 + call })
})

t.test('errors are read wrapped or not, with their retry delay', async (t) => {
  const error = {
    code: 429,
    status: 'RESOURCE_EXHAUSTED',
    message: 'm',
    details: [{ '@type': 'x/google.rpc.RetryInfo', retryDelay: '57.238747106s' }],
  }
  for (const body of [{ error }, [{ error }]])
    t.match(readNativeError(body), { rateLimited: true, retryAfterMs: 57_239, account: false })
  t.match(
    readNativeError({
      error: { code: 400, status: 'INVALID_ARGUMENT', details: [{ reason: 'API_KEY_INVALID' }] },
    }),
    { account: true },
  )
  t.equal(readNativeError({ candidates: [] }), undefined)
})
