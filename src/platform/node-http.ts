/**
 * Node's HTTP without a full import: importing the module evaluates all of its exports, and one of
 * them loads Node's own HTTP client, which takes a twentieth of the gateway's start.
 */
export const { ServerResponse, STATUS_CODES } = process.getBuiltinModule('node:http')
