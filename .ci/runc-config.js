#!/usr/bin/env node
/**
 * runc-config.js ROOT DATA ARGUMENTS [NAME=VALUE...] <INSPECTION: prints the config.json with which runc runs an image as a
 * cluster does: as its account, with a read-only root, no capability, and only /tmp and the data folder to write to. The
 * inspection is that of buildah; ARGUMENTS is a JSON list.
 */
import { readFileSync } from 'node:fs'

const [root, data, args = '[]', ...given] = process.argv.slice(2)
const { config } = JSON.parse(readFileSync(0, 'utf8')).OCIv1
// The last value of a variable counts.
const env = Object.fromEntries([...config.Env, ...given].map((entry) => entry.split(/=(.*)/s, 2)))
const [uid, gid] = config.User.split(':').map(Number)
const tmpfs = (destination, ...options) => ({
  destination,
  type: 'tmpfs',
  source: 'tmpfs',
  options: ['nosuid', 'size=64m', ...options],
})

const spec = {
  ociVersion: '1.0.2',
  root: { path: root, readonly: true },
  process: {
    args: [...config.Entrypoint, ...JSON.parse(args)],
    env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
    cwd: '/',
    user: { uid, gid },
    capabilities: { bounding: [], effective: [], permitted: [], inheritable: [], ambient: [] },
    noNewPrivileges: true,
  },
  mounts: [
    { destination: '/proc', type: 'proc', source: 'proc' },
    tmpfs('/dev', 'mode=755'),
    tmpfs('/dev/shm', 'nodev', 'mode=1777'),
    tmpfs('/tmp', 'nodev', 'mode=1777'),
    {
      destination: '/var/lib/tollgate',
      type: 'bind',
      source: data,
      options: ['rbind', 'rw', 'nosuid', 'nodev'],
    },
  ],
  // The network of the machine, since the stores listen on its loopback address.
  linux: { namespaces: ['pid', 'ipc', 'uts', 'mount'].map((type) => ({ type })) },
}
process.stdout.write(JSON.stringify(spec))
