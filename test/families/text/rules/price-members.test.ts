import t from 'tap'
import { textFamilies, wires } from '../wires.ts'
import {
  isSameTier,
  isTierName,
  passableMembers,
  priceMembersOf,
  serviceTierOf,
} from '../../../../src/families/text/rules/price-members.ts'

t.test('members that change price or model are found in any spelling', (t) => {
  const bodies: readonly object[] = [
    { service_tier: 'priority' },
    { serviceTier: 'FLEX' },
    { service_tier: { name: 'flex' } },
    { speed: 'fast' },
    { mode: 'turbo' },
    { modalities: ['text', 'audio'] },
    { modalities: 'audio' },
    { audio: { voice: 'alloy', format: 'mp3' } },
    { models: ['dearer'] },
    { provider: { order: ['a'] } },
    { route: 'fallback' },
    { plugins: [{ id: 'web' }] },
    { transforms: ['middle-out'] },
    { extra_body: { provider: {} } },
    { extraBody: { n: 9 } },
    { fallbacks: [{ model: 'dearer' }] },
    { best_of: 4 },
    { prediction: { type: 'content', content: 'x' } },
    { api_base: 'https://elsewhere.example.com' },
    { enable_search: true },
    { search_parameters: { mode: 'on' } },
    { inference_geo: 'us' },
    { betas: ['context-1m'] },
    { prompt_cache_retention: '24h' },
    { promptCacheOptions: { mode: 'explicit' } },
    { context_management: [{ type: 'compaction' }] },
    { access_programs: ['early'] },
    { n_predict: 220 },
    { max_new_tokens: 0 },
    { numPredict: 1 },
    { user_config: { model_list: [{}] } },
    { mock_response: 'made up' },
    { lora: [{ id: 0, scale: 1 }] },
  ]
  for (const family of textFamilies)
    for (const body of bodies) {
      const [path = ''] = Object.keys(body)
      const isReported = (wires[family].reports ?? []).includes(path)
      const paths = priceMembersOf(wires[family], { ...body }).map((found) => found.path)
      t.same(paths, isReported ? [] : [path], `${family} ${path}`)
    }
  const config = { responseModalities: ['AUDIO'], speechConfig: { a: 1 }, routingConfig: { a: 1 } }
  t.same(
    priceMembersOf(wires.native, { generationConfig: config }).map(({ path }) => path),
    Object.keys(config).map((name) => `generationConfig.${name}`),
  )
  t.end()
})

t.test('a wire passes on the members whose cost its usage shows, and no others', (t) => {
  const reporting = { ...wires.chat, reports: ['context_management'] }
  const edits = { edits: [{ type: 'clear_tool_uses_20250919' }] }
  for (const name of ['context_management', 'contextManagement']) {
    t.same(priceMembersOf(reporting, { [name]: edits }), [], name)
    t.same(
      priceMembersOf(reporting, { [name]: edits, inference_geo: 'us' }),
      [{ name: 'inference_geo', path: 'inference_geo' }],
      name,
    )
    t.match(priceMembersOf(wires.chat, { [name]: edits }), [{ path: name }])
  }
  t.end()
})

t.test('members that official clients send by default change no price', (t) => {
  const usual = {
    service_tier: 'auto',
    speed: null,
    modalities: ['text'],
    models: [],
    provider: null,
    plugins: [],
    transforms: [],
    extra_body: {},
    best_of: 1,
    audio: null,
    store: true,
    prompt_cache_key: 'a',
    prompt_cache_retention: 'in_memory',
    prompt_cache_options: {},
    context_management: [],
    reasoning_effort: 'high',
    metadata: { a: 'b' },
  }
  for (const family of textFamilies) t.same(priceMembersOf(wires[family], usual), [])
  for (const tier of ['auto', 'default', 'standard', 'STANDARD'])
    t.same(priceMembersOf(wires.chat, { service_tier: tier }), [])
  const config = { responseModalities: ['TEXT'], candidateCount: 3 }
  t.same(priceMembersOf(wires.native, { generationConfig: config }), [])
  t.end()
})

t.test('the count of answers is a member on its own wire, and a foreign member on others', (t) => {
  t.same(priceMembersOf(wires.chat, { n: 3 }), [])
  t.same(priceMembersOf(wires.chat, { n: 1, candidateCount: 3 }), [
    { name: 'candidate_count', path: 'candidateCount' },
  ])
  t.same(priceMembersOf(wires.responses, { n: 3 }), [{ name: 'n', path: 'n' }])
  t.same(priceMembersOf(wires.native, { n: 3 }), [{ name: 'n', path: 'n' }])
  t.match(priceMembersOf(wires.native, { candidateCount: 3 }), [{ path: 'candidateCount' }])
  t.match(priceMembersOf(wires.chat, { N: 3 }), [{ path: 'N' }])
  t.end()
})

t.test('tiers of service are named and compared', (t) => {
  t.equal(serviceTierOf({ serviceTier: 'FLEX' }), 'flex')
  t.equal(serviceTierOf({ service_tier: 'default' }), undefined)
  t.ok(isTierName('flex'))
  for (const name of ['default', 'auto', 'Flex', '', 'a b']) t.notOk(isTierName(name), name)
  t.notOk(passableMembers.includes('service_tier'))
  t.ok(isSameTier(undefined, 'default') && isSameTier('flex', 'FLEX'))
  t.notOk(isSameTier('flex', 'default') || isSameTier(undefined, 'priority'))
  t.end()
})
