import { catalog } from '../../../../src/families/index.ts'
import * as fc from 'fast-check'
import { parseAmount } from '../../../../src/kernel/money.ts'
import { propertyRuns } from '../../../helpers/property-runs.ts'
import t from 'tap'
import { withHeldBound } from '../../../../src/families/text/rules/expected.ts'
import { textFamilies, type TextFamily, wires } from '../wires.ts'
import { textRules, type TextCallRequest } from '../../../../src/families/text/rules/rules.ts'
import type { OutputSize, TextSeen } from '../../../../src/families/text/rules/measure.ts'
import { noTextUsage } from '../../../../src/families/text/rules/tokens.ts'
import { priceBookFromPublished } from '../../../../src/domain/pricing/price-book.ts'
import { shippedBook } from '../../../domain/pricing/books.ts'

function request(
  body: TextCallRequest['body'],
  { family = 'chat', largest = 8_192 }: { family?: TextFamily; largest?: number } = {},
): TextCallRequest {
  const inputSize = { characters: 4, mediaBytes: 0 }
  return { wire: wires[family], model: 'text-basic', body, inputSize, largestOutputTokens: largest }
}

/** What a request is of, it says itself. */
const chatText = textRules(wires.chat)
const heldFor = (asked: TextCallRequest): bigint => chatText.price(asked, shippedBook).holdPico

const MOST = Number.MAX_SAFE_INTEGER

/** The size of an answer of so many letters. */
const sizeOf = (letters: number, answers = 1): OutputSize => ({
  bytes: letters,
  characters: letters,
  answers,
})

/** How each wire bounds the output of an answer. */
const boundedBy: Readonly<Record<TextFamily, (bound: number) => TextCallRequest['body']>> = {
  chat: (bound) => ({ max_tokens: bound }),
  responses: (bound) => ({ max_output_tokens: bound }),
  native: (bound) => ({ generationConfig: { maxOutputTokens: bound } }),
  messages: (bound) => ({ max_tokens: bound }),
}

/** What is held for so many output tokens, input and its price left out. */
function held(family: TextFamily, body: TextCallRequest['body'], largest?: number): number {
  const options = { family, ...(largest === undefined ? {} : { largest }) }
  const one = heldFor(request(boundedBy[family](1), { family }))
  const perToken = heldFor(request(boundedBy[family](2), { family })) - one
  return Number((heldFor(request(body, options)) - one) / perToken) + 1
}

t.test('a hold covers the caller’s output bound, times the answers', (t) => {
  t.equal(held('chat', { max_completion_tokens: 100 }), 100)
  t.equal(held('chat', { max_tokens: 100, n: 3 }), 300)
  t.equal(held('responses', { max_output_tokens: 100 }), 100)
  t.equal(held('native', { generationConfig: { maxOutputTokens: 100 } }), 100)
  t.equal(held('native', { generationConfig: { maxOutputTokens: 100, candidateCount: 4 } }), 400)
  t.end()
})

t.test('the largest of several bounds is held, and bounds of other wires are ignored', (t) => {
  t.equal(held('chat', { max_completion_tokens: 1, max_tokens: 8_000 }), 8_000)
  t.equal(held('chat', { max_completion_tokens: 8_000, max_tokens: 1 }), 8_000)
  t.equal(held('chat', { max_output_tokens: 1 }), 8_192)
  t.equal(held('chat', { generationConfig: { maxOutputTokens: 1, candidateCount: 9 } }), 8_192)
  t.equal(held('responses', { max_tokens: 1, max_completion_tokens: 1, n: 9 }), 8_192)
  t.equal(held('responses', { max_output_tokens: 50, max_tokens: 1 }), 50)
  t.equal(held('native', { max_tokens: 1, max_output_tokens: 1, n: 9 }), 8_192)
  // An account may take a figure that is none for no bound at all.
  t.equal(held('chat', { max_completion_tokens: 1, max_tokens: -1 }), 8_192)
  t.equal(held('chat', { max_completion_tokens: 1, max_tokens: '9000' }), 8_192)
  t.equal(held('chat', { max_completion_tokens: 1, max_tokens: null }), 1)
  t.end()
})

t.test('upstream gets the held bound, in every member that bounds', (t) => {
  const figure = fc.option(fc.integer({ min: 1, max: 200_000 }), { nil: undefined })
  const members = fc.record({
    max_completion_tokens: figure,
    max_tokens: figure,
    max_output_tokens: figure,
    maxOutputTokens: figure,
  })
  const largest = 100_000
  fc.assert(
    fc.property(fc.constantFrom(...textFamilies), members, (family, given) => {
      const { maxOutputTokens, ...flat } = given
      const body = JSON.parse(
        JSON.stringify({ ...flat, generationConfig: { maxOutputTokens } }),
      ) as TextCallRequest['body']
      const sent = withHeldBound(wires[family], body, { largest })
      const bounds = {
        chat: [sent['max_completion_tokens'], sent['max_tokens']],
        responses: [sent['max_output_tokens']],
        native: [(sent['generationConfig'] as { maxOutputTokens?: number }).maxOutputTokens],
        messages: [sent['max_tokens']],
      }[family].filter((bound) => bound !== undefined)
      const most = held(family, body, largest)
      const counts = bounds.filter((bound) => Number.isSafeInteger(bound) && Number(bound) > 0)
      // What is no count goes as it came, and the largest there is is held.
      return counts.length < bounds.length
        ? most === largest
        : counts.length > 0 && counts.every((bound) => bound === most)
    }),
    { numRuns: 10_000 },
  )
  const body = { max_tokens: 5, n: 2 }
  t.equal(withHeldBound(wires.chat, body, { largest: 8_192 }), body, 'nothing is copied')
  t.end()
})

t.test(
  'upstream gets the one bound that its channel names, and one where the caller has none',
  (t) => {
    const sent = (family: TextFamily, body: TextCallRequest['body'], known?: string) =>
      withHeldBound(wires[family], body, { largest: 8_192, known })
    t.same(sent('chat', { n: 2 }), { n: 2, max_completion_tokens: 8_192 })
    t.same(sent('responses', {}), { max_output_tokens: 8_192 })
    t.same(sent('native', {}), { generationConfig: { maxOutputTokens: 8_192 } })
    t.same(sent('chat', {}, 'max_tokens'), { max_tokens: 8_192 })
    t.same(sent('chat', { max_completion_tokens: 5 }, 'max_tokens'), { max_tokens: 5 })
    t.same(sent('chat', { max_completion_tokens: 5, max_tokens: 9 }, 'n_predict'), { n_predict: 9 })
    const kept = { max_tokens: 5 }
    t.equal(sent('chat', kept, 'max_tokens'), kept)
    const invalid = { max_tokens: -1 }
    t.equal(sent('chat', invalid, 'max_completion_tokens'), invalid, 'upstream refuses it')
    t.end()
  },
)

t.test('a hold covers the uses that bound a tool, on a wire that bounds them', (t) => {
  const search = (uses?: unknown) => ({ type: 'web_search_20250305', max_uses: uses })
  const holdOf = (family: TextFamily, ...tools: readonly object[]) =>
    heldFor(request({ ...boundedBy[family](1), tools }, { family }))
  const none = holdOf('messages')
  const each = holdOf('messages', search(2)) - holdOf('messages', search(1))
  t.ok(each > 0n)
  const uses = (...tools: readonly object[]) => Number((holdOf('messages', ...tools) - none) / each)
  t.same([uses(search(1)), uses(search(7))], [1, 7])
  for (const odd of [undefined, null, 0, -1, 1.5, '5', 2 ** 53]) t.equal(uses(search(odd)), 10)
  t.equal(uses(search(7), search(2), search()), 19, 'entries add up')
  t.equal(uses(search(1_000_000)), 128, 'more are never billed')
  t.equal(uses({ type: 'web_fetch_1', max_uses: 9 }, { name: 'own', max_uses: 9 }), 0)
  const chat = holdOf('chat', { type: 'web_search', max_uses: 7 }) - holdOf('chat')
  t.equal(Number(chat / each), 3)
  t.end()
})

t.test('tools that upstream runs raise the ceiling of the input, those of a caller do not', (t) => {
  const measurementOf = (more: object): string | undefined => {
    const asked = request({ max_tokens: 64, ...more }, { family: 'messages' })
    const usage = { ...noTextUsage, input: 500_000, output: 9 }
    const terms = textRules(wires.messages).price(asked, shippedBook)
    return terms.settle({ usage, output: () => sizeOf(30), finished: true })?.measurement
  }
  const own = ['custom', 'bash_1', 'text_editor_1', 'computer_1', 'memory_1', undefined, null]
  for (const type of own)
    t.equal(measurementOf({ tools: [{ name: 'own', type }] }), 'estimated', String(type))
  for (const type of ['web_search_1', 'web_fetch_1', 'tool_search_1'])
    t.equal(measurementOf({ tools: [{ name: 'own' }, { type }] }), 'reported', type)
  t.equal(measurementOf({ mcp_servers: [{ url: 'https://example.com' }] }), 'reported')
  t.equal(measurementOf({ mcp_servers: [] }), 'estimated')
  t.end()
})

t.test('a summary of a conversation is outside the bound of its request', (t) => {
  const terms = textRules(wires.messages).price(
    request({ max_tokens: 64 }, { family: 'messages' }),
    shippedBook,
  )
  const settle = (output: number, unboundedTokens: number) =>
    terms.settle({
      usage: { ...noTextUsage, input: 9, output },
      unboundedTokens,
      output: () => sizeOf(80),
      finished: true,
    })
  t.match(settle(3_000, 2_980), { measurement: 'reported', usage: { output: 3_000 } })
  t.match(settle(3_000, 0), { measurement: 'estimated', usage: { output: 20 } })
  t.match(settle(MOST, MOST), { measurement: 'estimated' }, 'within the model')
  t.end()
})

t.test('a hold without a limit covers the largest output of the model, for each answer', (t) => {
  t.equal(held('chat', {}), 8_192)
  t.equal(held('native', { generationConfig: { candidateCount: 2 } }), 2 * 8_192)
  t.equal(held('responses', {}, 128_000), 128_000)
  t.end()
})

t.test('a hold never covers more than the model’s largest output', (t) => {
  t.equal(held('chat', { max_tokens: Number.MAX_SAFE_INTEGER }), 8_192)
  t.equal(held('chat', { max_tokens: 100_000, n: 2 }), 2 * 8_192)
  t.end()
})

t.test('the suggested bound fits the balance, and one more token does not', (t) => {
  const cases: readonly (readonly [
    TextFamily,
    TextCallRequest['body'],
    (bound: number) => object,
  ])[] = [
    ['chat', {}, (bound) => ({ max_completion_tokens: bound })],
    ['chat', { max_tokens: 9_000 }, (bound) => ({ max_tokens: bound })],
    [
      'chat',
      { max_tokens: 9_000, max_completion_tokens: 1 },
      (bound) => ({ max_tokens: bound, max_completion_tokens: 1 }),
    ],
    ['chat', { n: 3 }, (bound) => ({ n: 3, max_completion_tokens: bound })],
    ['responses', {}, (bound) => ({ max_output_tokens: bound })],
    [
      'native',
      { generationConfig: { candidateCount: 2 } },
      (bound) => ({ generationConfig: { candidateCount: 2, maxOutputTokens: bound } }),
    ],
    [
      'messages',
      { max_tokens: 9_000, tools: [{ type: 'web_search_1', max_uses: 7 }] },
      (bound) => ({ max_tokens: bound, tools: [{ type: 'web_search_1', max_uses: 7 }] }),
    ],
  ]
  fc.assert(
    fc.property(fc.constantFrom(...cases), fc.bigInt(0n, 10n ** 11n), (given, availablePico) => {
      const [family, body, bounded] = given
      const terms = chatText.price(request(body, { family }), shippedBook)
      if (terms.holdPico <= availablePico) return true
      const said = terms.fitting?.(availablePico)
      const fits = (bound: number) =>
        heldFor(request({ ...bounded(bound) }, { family })) <= availablePico
      if (said === undefined) return !fits(1)
      const [, name, bound] = /^`([\w.]+)` of at most (\d+)$/.exec(said) ?? []
      const named = JSON.stringify(bounded(1)).includes(`"${name?.split('.').at(-1)}"`)
      return named && fits(Number(bound)) && !fits(Number(bound) + 1)
    }),
  )
  t.end()
})

t.test('an unbounded number of answers is held without overflow', (t) => {
  t.ok(heldFor(request({ n: Number.MAX_SAFE_INTEGER })) > 10n ** 20n)
  t.end()
})

t.test('the token limit counts a default where no bound is given', (t) => {
  const expected = (body: TextCallRequest['body']) => chatText.expectedTokens(request(body))
  t.equal(expected({}), 1 + 2_048)
  t.equal(expected({ max_tokens: 10, n: 2 }), 1 + 20)
  t.end()
})

t.test('the seen part of an answer gives its settlement, and the cost of a failure', (t) => {
  const terms = chatText.price(request({}), shippedBook)
  const seen = (more: Partial<TextSeen>): TextSeen => ({
    usage: undefined,
    output: () => sizeOf(41),
    finished: true,
    ...more,
  })
  const usage = { ...noTextUsage, input: 30, 'cached-input': 12, output: 5, 'web-search-call': 1 }
  const whole = terms.settle(seen({ usage }))
  t.same(whole?.usage, usage, 'by unit as reported, zeros kept')
  t.equal(whole?.measurement, 'reported')
  t.equal(whole?.limitedTokens, 47, 'tools are no tokens')
  const unsaid = terms.settle(seen({}))
  t.match(unsaid, { measurement: 'estimated', usage: { input: 1, output: 11 } })
  const part = terms.estimate(seen({ usage, finished: false }))
  t.match(part, { measurement: 'estimated', usage: { input: 30, output: 11 } })
  const nothing = terms.estimate(undefined)
  t.match(nothing, { measurement: 'estimated', usage: { input: 1, output: 0 } })
  t.same(
    nothing.settlement.lines.map(({ quantity }) => quantity),
    [1],
  )
  t.end()
})

t.test('usage above the possible maximum is settled as an estimate, member by member', (t) => {
  for (const wire of textFamilies) {
    const asked = request(boundedBy[wire](4_096), { family: wire })
    const terms = textRules(wires[wire]).price(asked, shippedBook)
    const settle = (more: Partial<typeof noTextUsage>, reasoningTokens = 0) => {
      const usage = { ...noTextUsage, input: 30, output: 5, ...more }
      const report = { prompt_tokens: usage.input, completion_tokens: usage.output }
      return terms.settle({
        usage,
        reasoningTokens,
        report,
        output: () => sizeOf(41),
        finished: true,
      })
    }
    t.match(settle({ input: 30_000, output: 4_100 }), { measurement: 'reported' }, wire)
    t.notOk(settle({})?.doubted)
    const output = settle({ output: MOST })
    t.match(output, {
      measurement: 'estimated',
      usage: { input: 30, output: 11 },
      doubted: {
        figures: { prompt_tokens: 30, completion_tokens: MOST },
        notes: [{ what: 'output', why: 'ceiling' }],
      },
    })
    t.same(
      output?.settlement.lines.map(({ measurement }) => measurement),
      ['reported', 'estimated'],
      'the other side is what was reported',
    )
    for (const more of [
      { input: MOST },
      { 'cached-input': MOST },
      // Each is safe, their sum is not.
      { input: MOST, 'cache-write-5m': MOST, 'cache-write-1h': MOST },
    ])
      t.match(settle(more), {
        measurement: 'estimated',
        usage: { input: 1, 'cached-input': 0, 'cache-write-1h': 0, output: 5 },
        limitedTokens: 6,
      })
    t.match(settle({ 'web-search-call': MOST, 'file-search-call': MOST }), {
      measurement: 'estimated',
      usage: { 'web-search-call': 0, output: 5 },
    })
    t.match(settle({ output: 8_000 }), { usage: { output: 11 } }, 'above the bound that was sent')
    t.match(settle({ output: 8_000 }, 4_000), { measurement: 'reported' }, 'reasoning is outside')
    t.match(settle({ output: MOST }, MOST), { usage: { output: 11 } }, 'within the model')
  }
  t.end()
})

t.test(
  'what came beyond the bound of a request is billed, up to what the model can answer',
  (t) => {
    const settle = (output: number | undefined, size: OutputSize, finished = true) => {
      const usage = output === undefined ? undefined : { ...noTextUsage, input: 30, output }
      const terms = chatText.price(request({ max_tokens: 5 }), shippedBook)
      return terms.settle({ usage, report: {}, output: () => size, finished })
    }
    t.match(settle(478, sizeOf(1_912)), { measurement: 'reported', usage: { output: 478 } })
    t.match(settle(undefined, sizeOf(880)), { measurement: 'estimated', usage: { output: 220 } })
    t.match(settle(undefined, sizeOf(99_999)), { usage: { output: 8_192 } }, 'the largest there is')
    t.match(settle(3, sizeOf(880), false), { usage: { output: 220 } }, 'ended by the gateway')
    t.match(settle(9_999, sizeOf(1_912)), {
      usage: { output: 478 },
      doubted: { notes: [{ what: 'output', why: 'ceiling' }] },
    })
    t.end()
  },
)

t.test('a report of less than what came can be is not believed', (t) => {
  const terms = chatText.price(request({ n: 3 }), shippedBook)
  const settle = (output: number, size: OutputSize) =>
    terms.settle({
      usage: { ...noTextUsage, input: 30, output },
      report: { completion_tokens: output },
      output: () => size,
      finished: true,
    })
  const few = { notes: [{ what: 'output', why: 'floor' }] }
  t.match(settle(20, sizeOf(160, 2)), { usage: { output: 40 }, doubted: few }, 'one was counted')
  t.match(settle(40, sizeOf(160, 2)), { measurement: 'reported', usage: { output: 40 } })
  t.match(settle(1, sizeOf(160)), { usage: { output: 10 }, doubted: few })
  t.match(settle(10, sizeOf(160)), { measurement: 'reported', usage: { output: 10 } })
  t.match(settle(0, sizeOf(160, 2)), { measurement: 'reported', usage: { output: 0 } })
  // Reasoning is shown by some that do not count it; the letters of some scripts have three bytes.
  t.match(settle(20, { bytes: 900, characters: 80, answers: 2 }), { measurement: 'reported' })
  t.end()
})

t.test('for any reported usage a call is settled within its ceiling', (t) => {
  const figure = fc.oneof(fc.nat(10_000), fc.maxSafeNat(), fc.constant(MOST))
  const terms = chatText.price(request({ max_tokens: 100 }), shippedBook)
  const ceilingPico = chatText.price(
    {
      ...request({ max_tokens: 10_400 }, { largest: 10_400 }),
      inputSize: { characters: 400_000, mediaBytes: 0 },
    },
    shippedBook,
  ).holdPico
  fc.assert(
    fc.property(
      fc.record(Object.fromEntries(Object.keys(noTextUsage).map((unit) => [unit, figure]))),
      fc.boolean(),
      fc.nat(10_000),
      (figures, finished, bytes) => {
        const usage = { ...noTextUsage, ...figures, 'web-search-call': 0 }
        const seen = { usage, finished, output: () => sizeOf(bytes) }
        for (const rated of [terms.settle(seen), terms.estimate(seen)]) {
          if (rated === undefined) return false
          if (!Number.isSafeInteger(rated.limitedTokens)) return false
          if (parseAmount(rated.settlement.amount) > ceilingPico) return false
        }
        return true
      },
    ),
    { numRuns: propertyRuns(200) },
  )
  t.end()
})

t.test('a quote is cached per price book: a new book has other prices', (t) => {
  const double = priceBookFromPublished({
    version: 'dearer',
    entries: ['input', 'output'].map((unit) => ({
      sku: `text-basic-${unit}-token`,
      currency: 'USD' as const,
      unit: 'token',
      price: '1000',
      per: 1_000_000 as const,
    })),
  })
  const before = chatText.price(request({}), shippedBook)
  const after = chatText.price(request({}), double)
  t.equal(after.priceBookVersion, 'dearer')
  t.ok(after.holdPico > before.holdPico)
  t.same(chatText.price(request({}), shippedBook).holdPico, before.holdPico)
  t.end()
})

t.test('every family is listed once, and the text wires belong to text', (t) => {
  const { familyNames } = catalog
  t.same([...new Set(familyNames)], familyNames)
  for (const wire of textFamilies) t.equal(catalog.callFamilyOf(wire)?.name, 'text')
  t.equal(catalog.callFamilyOf('video-a'), undefined)
  t.end()
})

t.test('a model is billed by its tokens, by those of each tier, and by tools of its wire', (t) => {
  const entry = (sku: string, currency: 'CNY' | 'USD' = 'USD') =>
    ({ sku, currency, unit: 'token', per: 1_000_000, price: '1' }) as const
  const bookOf = (entries: readonly ReturnType<typeof entry>[]) =>
    priceBookFromPublished({ version: 'v1', entries })
  const skus = (family: TextFamily, settings: readonly unknown[] = []) =>
    textRules(wires[family])
      .prices('m', bookOf([entry('m-input-token', 'CNY')]), settings)
      .map(({ sku, currency, optional }) => `${sku} ${currency} ${optional ?? false}`)
  const tokens = (end = '', needed = true) => [
    `m-input-token${end} CNY ${!needed}`,
    `m-cached-input-token${end} CNY true`,
    `m-cache-write-5m-token${end} CNY true`,
    `m-cache-write-1h-token${end} CNY true`,
    `m-output-token${end} CNY ${!needed}`,
  ]
  t.same(skus('chat'), [...tokens(), 'web-search-call CNY true'])
  t.same(skus('native'), [...tokens(), 'web-search-call CNY true'])
  t.same(skus('responses'), [
    ...tokens(),
    ...['web-search-call', 'code-interpreter-session', 'file-search-call'].map(
      (sku) => `${sku} CNY true`,
    ),
  ])
  const tiered = [{ serviceTiers: ['flex', 'fast'] }, {}, undefined, { serviceTiers: ['flex'] }]
  t.same(skus('chat', tiered).slice(0, -1), [
    ...tokens(),
    ...tokens('-flex', false),
    ...tokens('-fast', false),
  ])
  const unpriced = textRules(wires.chat).prices('m', bookOf([entry('m-output-token')]), [])
  t.same(unpriced, [{ sku: 'm-input-token', currency: 'USD', unit: 'token' }])
  t.end()
})
