// A receiver of webhooks as an organisation would write it: it takes a message when its signature fits,
// and answers 400 when it does not. The secret comes from WEBHOOK_SECRET, or later as a line on the
// standard input. Each message is told in one line of JSON.
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { Webhook } from "standardwebhooks";

let webhook = process.env.WEBHOOK_SECRET ? new Webhook(process.env.WEBHOOK_SECRET) : null;
createInterface({ input: process.stdin }).on("line", (line) => {
  webhook = new Webhook(line.trim());
  console.log(JSON.stringify({ trusts: true }));
});

const seen = new Set(); // the same message may come again

const server = createServer(async (request, response) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  const body = Buffer.concat(parts).toString("utf8");
  let event, error;
  try {
    event = webhook.verify(body, request.headers); // throws when no signature fits, or it is too old
  } catch (e) {
    error = String(e.message);
  }
  const again = event !== undefined && seen.has(event.id);
  if (event) seen.add(event.id);
  response.writeHead(error ? 400 : 204).end();
  console.log(JSON.stringify({ ok: !error, error, again, type: event?.type, subject: event?.subject, sequence: event?.data?.sequence }));
});
server.listen(Number(process.env.PORT ?? 0), "127.0.0.1", () => console.log(JSON.stringify({ port: server.address().port })));
