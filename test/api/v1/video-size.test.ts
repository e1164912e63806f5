import t from 'tap'
import { videoFamilyOf } from '../../../src/api/v1/videos/order.ts'
import { catalog } from '../../../src/families/index.ts'
import { asModel, startApp } from '../support/app.ts'

const { app } = await startApp()
t.teardown(() => app.close())

const MODELS = ['overseas-video-2-5', 'h3-video', 'clipq3-pro']

t.test('400 that names `size` where resolution and ratio follow from it', async (t) => {
  const families = MODELS.map((model) => videoFamilyOf(catalog, model).family)
  t.equal(new Set(families).size, catalog.videoFamilies.length, 'every family')
  const cases = [
    ['100x100', /^`size` 100x100 means `resolution` 100p: `resolution` must /],
    ['1280x721', /^`size` 1280x721 means /],
    ['big', /^`size` must be <width>x<height> or auto$/],
  ] as const
  for (const model of MODELS)
    for (const [size, message] of cases) {
      const body = { model, prompt: 'a paper boat', size }
      for (const [url, payload] of [
        ['/v1/videos', body],
        ['/v1/quote', { path: '/v1/videos', body }],
      ] as const) {
        const answer = await app.inject({ method: 'POST', url, headers: asModel, payload })
        t.equal(answer.statusCode, 400, `${url} ${model} ${size}`)
        const { param, message: said } = answer.json<{ error: Record<string, string> }>().error
        t.equal(param, 'size')
        t.match(said, message)
      }
    }
})

t.test('`size` auto is priced as a size that is left out, also with a resolution', async (t) => {
  const quoted = async (model: string, more: object) => {
    const body = { model, prompt: 'a paper boat', ...more }
    const payload = { path: '/v1/videos', body }
    const answer = await app.inject({ method: 'POST', url: '/v1/quote', headers: asModel, payload })
    t.equal(answer.statusCode, 200, answer.body)
    return answer.json<object>()
  }
  const resolutions = ['480p', '2K', '720p']
  for (const [at, model] of MODELS.entries())
    for (const more of [{}, { resolution: resolutions[at] }])
      t.same(await quoted(model, { ...more, size: 'auto' }), await quoted(model, more), model)
})

t.test('400 that names `resolution` or `ratio` where they were given', async (t) => {
  for (const model of MODELS)
    for (const [name, value] of [
      ['resolution', '100p'],
      ['ratio', '1000:1'],
    ] as const) {
      const payload = { model, prompt: 'a paper boat', [name]: value }
      const answer = await app.inject({
        method: 'POST',
        url: '/v1/videos',
        headers: asModel,
        payload,
      })
      t.match(answer.json(), { error: { param: name } }, `${model} ${name}`)
    }
})
