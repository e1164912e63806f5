import { writeFile } from 'node:fs/promises'
import pino from 'pino'
import { Registry } from 'prom-client'
import { buildApp, type GatewayServices } from '../api/app.ts'
import { families } from '../families/index.ts'
import { catalogOf, type FamilyDeps, openFamilies } from '../families/module.ts'

/**
 * Run by a build, `describe.js FILE VERSION`: writes the OpenAPI document of all routes, which depends on the code
 * alone. Making it takes most of a second, which no request of a gateway may take from the others.
 */

/** Stands for each thing that a route uses once it is called, which none is here. */
const unused = Object(
  new Proxy(() => unused, {
    get: (_target, name) => (typeof name === 'symbol' || name === 'then' ? undefined : unused),
  }),
)
const services: GatewayServices = {
  models: { catalog: catalogOf(families), channels: unused, prices: unused },
  clock: unused,
  tokens: unused,
  throttle: unused,
  calls: unused,
  tasks: unused,
  images: unused,
  assets: unused,
  files: unused,
  accounts: unused,
  support: unused,
  hosts: unused,
  queries: unused,
}
const familyDeps: FamilyDeps = {
  log: unused,
  clock: unused,
  upstreamClock: unused,
  crashPoint: unused,
  markerSecret: 'of no gateway',
}

const [, , file = '', version = ''] = process.argv
const app = await buildApp(services, {
  logger: pino({ level: 'silent' }),
  metrics: new Registry(),
  surfaces: openFamilies(families, familyDeps).surfaces,
  health: unused,
  objects: () => Promise.resolve(undefined),
  version,
})
await app.ready()
await writeFile(file, JSON.stringify(app.swagger()))
await app.close()
