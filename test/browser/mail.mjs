// A mail server that stores the recipients of accepted messages.
import { createServer } from "node:net";

// startMail starts a server on loopback. taken holds the recipients of the accepted messages, in order. refuse lists
// the addresses that the server does not know.
export async function startMail(refuse = []) {
  const taken = [],
    open = new Set();
  const server = createServer((socket) => {
    let text = "",
      recipient,
      message = false;
    const say = (line) => socket.write(line + "\r\n");
    open.add(
      socket
        .setEncoding("utf8")
        .on("close", () => open.delete(socket))
        .on("error", () => {}),
    );
    say("220 mail.example");
    socket.on("data", (part) => {
      text += part;
      for (let end; (end = text.indexOf("\r\n")) >= 0; text = text.slice(end + 2)) {
        const line = text.slice(0, end),
          verb = line.slice(0, 4).toUpperCase();
        if (message) {
          if (line !== ".") continue;
          message = false;
          taken.push(recipient);
          say("250 taken");
        } else if (verb === "RCPT") {
          recipient = line.match(/<(.*?)>/)[1];
          say(refuse.includes(recipient) ? "550 5.1.1 nobody of this name" : "250 known");
        } else if (verb === "DATA") {
          message = true;
          say("354 go on");
        } else if (verb === "QUIT") {
          say("221 bye");
          socket.end();
        } else {
          say("250 yes");
        }
      }
    });
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const stop = () =>
    new Promise((done) => {
      server.close(done);
      for (const socket of open) socket.destroy();
    });
  return { url: "smtp://127.0.0.1:" + server.address().port, taken, stop };
}
