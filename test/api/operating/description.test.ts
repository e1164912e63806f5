import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import t from 'tap'
import type { Description } from '../../../src/api/operating/description.ts'
import { checkout } from '../../helpers/checkout.ts'
import { builtProduct } from '../../helpers/product.ts'
import { startApp } from '../support/app.ts'

const noObjects = { objects: () => Promise.resolve(undefined) }
const { main } = await builtProduct()
const built = await readFile(join(dirname(dirname(main)), 'openapi.json'), 'utf8')
const { version } = JSON.parse(await readFile(new URL('package.json', checkout), 'utf8'))

t.test('the document of a build is that of the routes', async (t) => {
  const { app } = await startApp({ ...noObjects, version })
  t.teardown(() => app.close())
  t.same(JSON.parse(built), (await app.inject('/openapi.json')).json())
})

t.test('a program with the document of its build serves it, and makes none', async (t) => {
  const marked = { ...JSON.parse(built), info: { title: 'of the build' } }
  let reads = 0
  const description = (): Promise<string> => {
    reads += 1
    return Promise.resolve(JSON.stringify(marked))
  }
  const { app } = await startApp({ ...noObjects, description })
  t.teardown(() => app.close())
  for (const url of ['/openapi.json', '/openapi.json'])
    t.same((await app.inject(url)).json(), marked, url)
  t.equal(reads, 1)
  for (const url of ['/docs/json', '/docs/yaml'])
    t.same((await app.inject(url)).json(), { ...marked, openapi: '3.0.3' }, url)
  t.same(Object.keys(app.swagger().paths ?? {}), [], 'the library knows no route')
})

t.test('routes that a process does not have are not in its document', async (t) => {
  const elsewhere = { operationsElsewhere: true }
  const pathsOf = async (part: object): Promise<readonly string[]> => {
    const { app } = await startApp({ ...elsewhere, ...part })
    t.teardown(() => app.close())
    const { paths } = (await app.inject('/openapi.json')).json<Description>()
    return Object.entries(paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method} ${path}`),
    )
  }
  const served = await pathsOf({ description: () => Promise.resolve(built) })
  t.same(served, await pathsOf({}))
  t.notOk(served.some((place) => /metrics|readyz|objects/.test(place)))
  t.ok(served.length > 80, `${served.length} operations`)
})
