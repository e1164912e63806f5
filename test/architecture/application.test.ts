import t from 'tap'
import { sources } from './sources.ts'

/**
 * Who knows whom among the folders of the application: what may be used stands above its user. Files
 * beside the folders are for all of them and know none, but the list of migrations.
 */
const appBelow: Readonly<Record<string, readonly string[]>> = {
  // Works out by itself what the others must have done, and so knows none of them.
  audit: [],
  database: [],
  objects: [],
  'last-audit': ['database'],
  channels: [],
  'read-models': [],
  'last-uses': ['database'],
  accounts: ['last-uses', 'read-models'],
  secret: ['database'],
  pricing: ['accounts', 'read-models'],
  throttle: ['accounts', 'database'],
  access: ['read-models', 'throttle'],
  'call-claims': ['access', 'database'],
  uploads: ['access', 'database', 'read-models'],
  files: ['access', 'read-models', 'throttle', 'uploads'],
  spending: ['database', 'throttle'],
  budgets: ['accounts', 'read-models', 'spending'],
  assets: ['access', 'channels', 'database', 'read-models', 'throttle'],
  finance: ['read-models', 'spending'],
  calls: [
    'access',
    'budgets',
    'call-claims',
    'channels',
    'database',
    'files',
    'pricing',
    'spending',
    'throttle',
    'uploads',
  ],
  tasks: [
    'access',
    'assets',
    'budgets',
    'channels',
    'database',
    'pricing',
    'read-models',
    'spending',
    'throttle',
  ],
  'tasks/watch': [
    'access',
    'call-claims',
    'channels',
    'database',
    'pricing',
    'spending',
    'tasks',
    'throttle',
  ],
  'balance-alerts': ['accounts', 'database', 'read-models', 'tasks/watch'],
  receipts: [],
  'image-tasks': [
    'access',
    'calls',
    'channels',
    'pricing',
    'spending',
    'tasks',
    'tasks/watch',
    'uploads',
  ],
}

/** Folder of the application; undefined for a file beside the folders. */
function appFolderOf(path: string): string | undefined {
  const [, , folder, inner] = path.split('/')
  if (!path.startsWith('src/app/') || inner === undefined) return undefined
  return folder === 'tasks' && inner === 'watch' ? 'tasks/watch' : folder
}

t.test('folders of the application use only what stands above them', (t) => {
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
