/**
 * Node's HTTP, without what an import of it costs: that reads every export of the module, and one of them loads Node's
 * own HTTP client, a twentieth of a gateway's start.
 */
export const { ServerResponse, STATUS_CODES } = process.getBuiltinModule('node:http')
