import t from 'tap'
import {
  chatUsage,
  citesPages,
  countedSearches,
  withSearches,
} from '../../../../src/families/chat/upstream/wire.ts'

const units = (usage: object) => {
  const read = chatUsage(usage)
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
  'every name upstreams have for cache writes is read, and all that is not of an hour is of five minutes',
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

t.test('an explicit zero is a figure; what is none means that nothing was reported', async (t) => {
  t.same(units({ prompt_tokens: 0, completion_tokens: 0 }), [0, 0, 0, 0, 0])
  for (const usage of [
    {},
    { prompt_tokens: 1 },
    { completion_tokens: 1 },
    { prompt_tokens: -1, completion_tokens: 1 },
    { prompt_tokens: 1.5, completion_tokens: 1 },
    { prompt_tokens: '1', completion_tokens: 1 },
    { prompt_tokens: 2 ** 53, completion_tokens: 1 },
    { prompt_tokens: 1, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 'x' } },
  ])
    t.equal(units(usage), undefined, JSON.stringify(usage))
  t.equal(chatUsage(null), undefined)
})

t.test('a cache larger than its prompt leaves no input, and never a negative one', async (t) => {
  t.same(
    units({ prompt_tokens: 5, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 9 } }),
    [0, 9, 0, 0, 1],
  )
})

t.test('an answer that cites pages is one search, unless upstream counts them', async (t) => {
  const cited = { annotations: [{ type: 'file' }, { type: 'url_citation', url_citation: {} }] }
  t.equal(citesPages(cited), true)
  for (const message of [undefined, {}, { annotations: [] }, { annotations: [{ type: 'file' }] }])
    t.equal(citesPages(message), false)
  t.equal(countedSearches({ server_tool_use: { web_search_requests: 3 } }), 3)
  t.equal(countedSearches({ server_tool_usage: { web_search_calls: 2 } }), 2)
  t.equal(countedSearches({ tool_usage: { web_search: 0 } }), 0)
  for (const usage of [null, {}, { tool_usage: null }, { tool_usage: { web_search: -1 } }])
    t.equal(countedSearches(usage), undefined)
  const usage = chatUsage({ prompt_tokens: 1, completion_tokens: 1 })
  t.equal(withSearches(usage, undefined, true)?.['web-search-call'], 1)
  t.equal(withSearches(usage, 3, true)?.['web-search-call'], 3)
  t.equal(withSearches(usage, 0, true)?.['web-search-call'], 0)
  t.equal(withSearches(usage, undefined, false)?.['web-search-call'], 0)
  t.equal(withSearches(undefined, 3, true), undefined)
})
