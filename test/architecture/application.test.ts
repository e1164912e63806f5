import t from 'tap'
import { sources } from './sources.ts'

/**
 * Who knows whom among the folders of the application: what may be used stands above its user. Files
 * beside the folders are for all of them and know none, but the list of migrations.
 */
const appBelow: Readonly<Record<string, readonly string[]>> = {
  ports: [],
  // Works out by itself what the others must have done, and so knows none of them.
  audit: [],
  queue: [],
  'files/objects': ['queue'],
  channels: ['ports'],
  'read-models': [],
  'finance/receipts': ['read-models'],
  support: ['finance/receipts', 'queue', 'read-models'],
  accounts: ['queue', 'read-models'],
  'finance/prices': ['accounts', 'ports', 'read-models'],
  spending: ['accounts', 'queue', 'read-models'],
  access: ['read-models', 'spending'],
  'calls/claims': ['access'],
  'files/uploads': ['access', 'ports', 'read-models'],
  files: ['access', 'files/uploads', 'read-models', 'spending'],
  assets: ['access', 'channels', 'ports', 'queue', 'read-models', 'spending'],
  finance: ['read-models', 'spending'],
  'finance/line-files': [],
  'finance/statements': [
    'accounts',
    'audit',
    'finance',
    'finance/line-files',
    'read-models',
    'spending',
  ],
  calls: [
    'queue',
    'access',
    'calls/claims',
    'channels',
    'files',
    'files/uploads',
    'finance/prices',
    'ports',
    'spending',
  ],
  tasks: [
    'access',
    'assets',
    'channels',
    'finance/prices',
    'ports',
    'queue',
    'read-models',
    'spending',
  ],
  'tasks/watch': [
    'access',
    'calls/claims',
    'channels',
    'finance/prices',
    'ports',
    'queue',
    'spending',
    'support',
    'tasks',
  ],
  'support/actions': ['accounts', 'support', 'tasks'],
  'accounts/alerts': ['accounts', 'queue', 'read-models'],
  'tasks/images': [
    'access',
    'calls',
    'channels',
    'files/uploads',
    'finance/prices',
    'ports',
    'queue',
    'spending',
    'tasks',
    'tasks/watch',
  ],
}
const folders = Object.keys(appBelow)

/** Folder of the application, the innermost that the list names; undefined for a file beside the folders. */
function appFolderOf(path: string): string | undefined {
  if (!path.startsWith('src/app/')) return undefined
  const within = folders.filter((folder) => path.startsWith(`src/app/${folder}/`))
  const [innermost] = within.sort((a, b) => b.length - a.length)
  return innermost ?? path.split('/').slice(2, -1)[0]
}

t.test('a folder of the application imports only folders below it', (t) => {
  const inside = sources.filter(({ path }) => path.startsWith('src/app/'))
  const offending = inside.flatMap(({ path, imports }) => {
    const mine = appFolderOf(path)
    const allowed = mine === undefined ? [] : appBelow[mine]
    if (!allowed) return [`${path}: stands in no known folder`]
    return imports
      .filter((target) => {
        const theirs = appFolderOf(target)
        return theirs !== undefined && theirs !== mine && !allowed.includes(theirs)
      })
      .map((target) => `${path} imports ${target}`)
      .filter(() => path !== 'src/app/migrations.ts')
  })
  t.same(offending, [])
  const order = Object.keys(appBelow)
  for (const [folder, allowed] of Object.entries(appBelow))
    for (const used of allowed)
      t.ok(order.indexOf(used) < order.indexOf(folder), `${used} stands above ${folder}`)
  t.same(
    order.filter((folder) => !inside.some(({ path }) => appFolderOf(path) === folder)),
    [],
    'every folder of the list has files',
  )
  t.end()
})
