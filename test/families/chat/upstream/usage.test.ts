import t from 'tap'
import {
  chatUsage,
  citesPages,
  countedSearches,
} from '../../../../src/families/chat/upstream/usage.ts'

const units = (usage: object) => {
  const read = chatUsage(usage).usage
  return (
    read && [
      read.input,
      read['cached-input'],
      read['cache-write-5m'],
      read['cache-write-1h'],
      read.output,
    ]
  )
}

t.test('cache hits and writes come out of the prompt, reasoning is output already', async (t) => {
  t.same(
    units({
      prompt_tokens: 100,
      completion_tokens: 50,
      prompt_tokens_details: {
        cached_tokens: 20,
        cached_write_tokens: 12,
        cached_write_5m_tokens: 5,
        cached_write_1h_tokens: 7,
      },
      completion_tokens_details: { reasoning_tokens: 40 },
    }),
    [68, 20, 5, 7, 50],
  )
})

t.test(
  'every upstream name of cache writes is read, and those not of one hour count as five minutes',
  async (t) => {
    const base = { prompt_tokens: 100, completion_tokens: 1 }
    const details = (more: object) => units({ ...base, prompt_tokens_details: more })
    t.same(details({ cache_write_tokens: 12 }), [88, 0, 12, 0, 1])
    t.same(details({ cache_write_tokens: 12, cache_write_1h_tokens: 2 }), [88, 0, 10, 2, 1])
    t.same(units({ ...base, cache_creation_input_tokens: 9 }), [91, 0, 9, 0, 1])
    t.same(
      units({
        ...base,
        cache_creation: { ephemeral_5m_input_tokens: 3, ephemeral_1h_input_tokens: 4 },
      }),
      [93, 0, 3, 4, 1],
    )
  },
)

t.test('an explicit zero is usage; invalid figures count as no report', async (t) => {
  t.same(units({ prompt_tokens: 0, completion_tokens: 0 }), [0, 0, 0, 0, 0])
  for (const usage of [
    {},
    { prompt_tokens: -1, completion_tokens: null },
    { prompt_tokens: '1', completion_tokens: 1.5 },
    { total_tokens: 7 },
  ])
    t.equal(units(usage), undefined, JSON.stringify(usage))
  t.same(chatUsage(null), { usage: undefined })
})

const notesOf = (usage: object) =>
  chatUsage(usage).notes?.map(({ what, why }) => `${what} ${why}`) ?? []

t.test('a missing figure of one side keeps the other side', async (t) => {
  for (const nothing of [undefined, null, -1, 1.5, '1', 2 ** 53]) {
    const output = { prompt_tokens: 7, completion_tokens: nothing }
    t.same(units(output), [7, 0, 0, 0, 0])
    t.same(notesOf(output), ['output missing'])
    const input = { prompt_tokens: nothing, completion_tokens: 3 }
    t.same(units(input), [0, 0, 0, 0, 3])
    t.same(notesOf(input), ['input missing'])
  }
  const rest = { prompt_tokens: 7, completion_tokens: null, total_tokens: 10 }
  t.same(units(rest), [7, 0, 0, 0, 3], 'the total has the other')
  t.same(notesOf(rest), ['output elsewhere'])
})

t.test('cache reads are found under every upstream name', async (t) => {
  const base = { prompt_tokens: 100, completion_tokens: 1 }
  for (const more of [
    { cache_read_input_tokens: 60 },
    { prompt_cache_hit_tokens: 60, prompt_cache_miss_tokens: 40 },
    { cached_tokens: 60 },
    { prompt_tokens_details: { cached_tokens: 0 }, cached_tokens: 60 },
    { prompt_tokens_details: { cached_tokens: null, cache_read_input_tokens: 60 } },
  ]) {
    t.same(units({ ...base, ...more }), [40, 60, 0, 0, 1], JSON.stringify(more))
    t.same(notesOf({ ...base, ...more }), ['cached-input elsewhere'])
  }
  t.same(notesOf({ ...base, prompt_tokens_details: { cached_tokens: 60 } }), [])
})

t.test('reasoning that only the total counts is output', async (t) => {
  const base = { prompt_tokens: 10, completion_tokens: 5 }
  const of = (reasoning_tokens: number, total_tokens: number) =>
    units({ ...base, total_tokens, completion_tokens_details: { reasoning_tokens } })
  t.same(of(3, 15), [10, 0, 0, 0, 5], 'a part of the output')
  t.same(of(30, 45), [10, 0, 0, 0, 35])
  t.same(of(3, 40), [10, 0, 0, 0, 5], 'a total that is nothing like it')
  t.same(units({ ...base, total_tokens: 45 }), [10, 0, 0, 0, 35], 'without the part itself')
  const outside = { ...base, total_tokens: 35, prompt_tokens_details: { cached_tokens: 20 } }
  t.same(units(outside), [10, 20, 0, 0, 5], 'a cache that the input leaves out')
})

t.test('a part above its whole, or that is no count, is noted', async (t) => {
  for (const cached_tokens of [9, 2 ** 53, -1, 'x'])
    t.same(
      notesOf({ prompt_tokens: 5, completion_tokens: 1, prompt_tokens_details: { cached_tokens } }),
      ['input parts'],
    )
  const most = Number.MAX_SAFE_INTEGER
  const sum = { cache_write_5m_tokens: most, cache_write_1h_tokens: most }
  t.same(
    notesOf({ prompt_tokens: most, completion_tokens: 1, prompt_tokens_details: sum }),
    ['input parts'],
    'two safe figures whose sum is not',
  )
})

t.test('an answer with page citations is one search, unless upstream counts them', async (t) => {
  const cited = { annotations: [{ type: 'file' }, { type: 'url_citation', url_citation: {} }] }
  t.equal(citesPages(cited), true)
  for (const message of [undefined, {}, { annotations: [] }, { annotations: [{ type: 'file' }] }])
    t.equal(citesPages(message), false)
  t.equal(countedSearches({ server_tool_use: { web_search_requests: 3 } }), 3)
  t.equal(countedSearches({ server_tool_usage: { web_search_calls: 2 } }), 2)
  t.equal(countedSearches({ tool_usage: { web_search: 0 } }), 0)
  for (const usage of [null, {}, { tool_usage: null }, { tool_usage: { web_search: -1 } }])
    t.equal(countedSearches(usage), undefined)
  const searches = (more: object, cites: boolean) =>
    chatUsage({ prompt_tokens: 1, completion_tokens: 1, ...more }, cites).usage?.['web-search-call']
  t.equal(searches({}, true), 1)
  t.equal(searches({ tool_usage: { web_search: 3 } }, true), 3)
  t.equal(searches({ tool_usage: { web_search: 0 } }, true), 0)
  t.equal(searches({}, false), 0)
})
